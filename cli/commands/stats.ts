// `stats`: looks at queues, once or again and again, and shows them. A queue that cannot be read just now is named and
// hides no others; a look that fails while it watches is shown, and the next one is taken.

import { setTimeout as delay } from 'node:timers/promises'
import type { LaneState } from '../../engine/queues.ts'
import { stateBody } from '../../lambdas/http/state-body.ts'
import { clockTime } from '../../local/terminal/terminal.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { present } from '../../shared/wire.ts'
import { type Context, choice, command, flag, integer, text } from '../command.ts'
import { type ExitCode, exitCodes, explain, wrongUsage } from '../failure.ts'
import type { Listed, State, Target } from '../target/target.ts'
import { openScreen } from '../terminal.ts'
import { age, type Column, counted, grouped, tableLines } from '../text.ts'

type Snapshot = {
  readonly states: readonly State[]
  /** Queues whose state could not be read just now: they hide no others. */
  readonly unread: readonly Unread[]
  /** There are more queues than the caller asked for. */
  readonly isMore: boolean
  /** How many queues we looked at, if there are more: the sorting has not seen those. */
  readonly unseenAfter?: number
}

type Unread = { readonly queue: string; readonly error: unknown }
type Inspected = Pick<Snapshot, 'states' | 'unread'>

/** Requests at once: a screenful of queues in a moment, and nothing that anybody would notice. */
const AT_ONCE = 8
/** What only the states tell takes a request for each queue: a thousand of them are seconds, and less than a cent. */
const SORTED_MAX = 1_000
const LISTED_MAX = 100_000

/** What queues can be sorted by, the most urgent first. */
const weights = {
  oldest: ({ oldestPushedAtMs = Number.MAX_SAFE_INTEGER }: State) => -oldestPushedAtMs,
  count: ({ count }: State) => count,
  locked: ({ lockedCount }: State) => lockedCount,
  dead: deadLettersIn,
} as const

/** Those of these that the list of queues knows as well: then only the queues that are shown take a request each. */
const listWeights: Readonly<Partial<Record<SortedBy, (one: Listed) => number>>> = {
  count: ({ count = 0 }) => count,
  dead: deadLettersIn,
}

/** Dead letters are the items of dead-letter queues. */
function deadLettersIn({ queue, count = 0 }: Listed): number {
  return isDeadLetterQueue(queue) ? count : 0
}

type SortedBy = keyof typeof weights
const sortings = Object.keys(weights) as readonly SortedBy[]

/** The state of these queues, or of all that begin with `prefix`, by name. */
export async function snapshotOf(
  target: Target,
  {
    queues,
    prefix,
    limit,
    sort,
  }: {
    readonly queues: readonly string[]
    readonly prefix: string | undefined
    readonly limit: number
    readonly sort?: SortedBy | undefined
  },
): Promise<Snapshot> {
  if (queues.length > 0) {
    return { ...sorted(await inspectAll(target, queues), sort), isMore: false }
  }
  if (sort !== undefined) return sortedSnapshot(target, { prefix, limit, sort })
  const names: string[] = []
  let isMore = false
  for await (const { queue } of target.queues({ prefix })) {
    isMore = names.length === limit
    if (isMore) break
    names.push(queue)
  }
  return { ...(await inspectAll(target, names)), isMore }
}

async function sortedSnapshot(
  target: Target,
  {
    prefix,
    limit,
    sort,
  }: { readonly prefix: string | undefined; readonly limit: number; readonly sort: SortedBy },
): Promise<Snapshot> {
  let listed: Listed[] = []
  const weight = listWeights[sort]
  const most = weight === undefined ? SORTED_MAX : LISTED_MAX
  let unseenAfter: number | undefined
  for await (const one of target.queues({ prefix })) {
    if (listed.length === most) {
      unseenAfter = most
      break
    }
    listed.push(one)
  }
  if (sort === 'dead') listed = listed.filter(mayHaveDeadLetters)
  if (weight !== undefined) listed.sort((a, b) => weight(b) - weight(a)).splice(limit + 1)
  const names = listed.map(({ queue }) => queue)
  const { states, unread } = sorted(await inspectAll(target, names), sort)
  const isMore = states.length > limit
  return present({ states: states.slice(0, limit), unread, isMore, unseenAfter })
}

/** One without a count could not be read just now. */
const mayHaveDeadLetters = ({ queue, count }: Listed): boolean =>
  isDeadLetterQueue(queue) && count !== 0

const sorted = ({ states, unread }: Inspected, by: SortedBy | undefined): Inspected => ({
  states: by === undefined ? states : states.toSorted((a, b) => weights[by](b) - weights[by](a)),
  unread,
})

async function inspectAll(target: Target, queues: readonly string[]): Promise<Inspected> {
  const states: State[] = []
  const unread: Unread[] = []
  for (let at = 0; at < queues.length; at += AT_ONCE) {
    const some = queues.slice(at, at + AT_ONCE)
    const asked = some.map((queue) => target.inspect(queue, { oldest: true }))
    const failed: Unread[] = []
    for (const [index, answer] of (await Promise.allSettled(asked)).entries()) {
      if (answer.status === 'fulfilled') states.push(answer.value)
      else failed.push({ queue: some[index] as string, error: answer.reason })
    }
    // The service is out of reach, and the others would have to wait for the same error.
    if (failed.length === AT_ONCE) throw failed[0]?.error
    unread.push(...failed)
  }
  if (states.length === 0 && unread.length > 0) throw unread[0]?.error
  return { states, unread }
}

const columns: readonly Column[] = [
  { title: 'QUEUE' },
  { title: 'PRIORITY', align: 'right' },
  { title: 'COUNT', align: 'right' },
  { title: 'LOCKED', align: 'right' },
  { title: 'DYING', align: 'right' },
  { title: 'OLDEST', align: 'right' },
  { title: 'SCHEDULED', align: 'right' },
  { title: 'NEXT', align: 'right' },
  { title: 'SEGMENTS', align: 'right' },
  { title: 'OFFLOADED', align: 'right' },
  { title: 'STORED' },
]

/** A queue in one line, and where it has several priorities one for each of them below. */
export function statsLines(
  states: readonly State[],
  nowMs: number,
  widthMax?: number,
): readonly string[] {
  const rows = states.flatMap((state) => queueRows(state, nowMs))
  return tableLines(columns, rows, widthMax)
}

function queueRows(state: State, nowMs: number): string[][] {
  const { queue, count, lockedCount, deadCount, scheduledCount, oldestPushedAtMs, lanes } = state
  const oldest = oldestPushedAtMs === undefined ? '' : age(nowMs - oldestPushedAtMs)
  const own = [
    ...[grouped(count), orNothing(lockedCount), orNothing(deadCount), oldest],
    ...[orNothing(scheduledCount), nextDue(state, nowMs)],
  ]
  // Lanes that are empty stay a while: an application's priorities come back.
  const filled = lanes.filter((lane) => lane.count > 0)
  const [only] = filled
  if (filled.length === 1 && only !== undefined) {
    return [[queue, String(only.priority), ...own, ...segmentCells(only)]]
  }
  return [[queue, '', ...own, '', '', ''], ...filled.map(laneRow)]
}

/** It shows a time that has passed, too: nobody has popped since, or the queue has no room. */
function nextDue({ nextDueMs }: State, nowMs: number): string {
  if (nextDueMs === undefined) return ''
  return nextDueMs > nowMs ? `in ${age(nextDueMs - nowMs)}` : `${age(nowMs - nextDueMs)} ago`
}

const laneRow = (lane: LaneState): string[] => [
  '',
  String(lane.priority),
  grouped(lane.count),
  ...['', '', '', '', ''],
  ...segmentCells(lane),
]

/** First to last; and how many numbers lie where. */
const segmentCells = (lane: LaneState): [string, string, string] => [
  span(lane.headSegment, lane.tailSegment),
  lane.headOffloadedSegment === undefined || lane.tailOffloadedSegment === undefined
    ? ''
    : span(lane.headOffloadedSegment, lane.tailOffloadedSegment),
  placesOf(lane),
]

/** The stretches leave out what the record does not know; this line names it. */
export function placesOf({
  stored,
  head,
  end,
}: Pick<LaneState, 'stored' | 'head' | 'end'>): string {
  const counts = new Map<string, number>()
  let unknown = end - head
  for (const { from, to, in: place } of stored) {
    counts.set(place, (counts.get(place) ?? 0) + to - from)
    unknown -= to - from
  }
  if (unknown > 0) counts.set('unknown', unknown)
  return [...counts].map(([place, count]) => `${place} ${grouped(count)}`).join(', ')
}

const span = (from: number, to: number): string =>
  from === to ? grouped(from) : `${grouped(from)}–${grouped(to)}`

const orNothing = (n: number): string => (n === 0 ? '' : grouped(n))

const LIMIT_STANDARD = 50
const LIMIT_MAX = 1_000
const EVERY_SECONDS_STANDARD = 2

const options = {
  prefix: text('P', 'only queues whose ids have this prefix'),
  sort: choice(sortings, 'the oldest, longest or most locked first; dead: the dead-letter queues'),
  limit: integer('N', 1, LIMIT_MAX, `how many queues at most; ${LIMIT_STANDARD} is the default`),
  watch: flag('again and again, until Ctrl-C; with --json a line each time'),
  every: integer(
    'S',
    1,
    3_600,
    `with --watch: seconds between; ${EVERY_SECONDS_STANDARD} is the default`,
  ),
} as const

type Run = Context<typeof options>

export const stats = command({
  name: 'stats',
  summary: 'Shows queues and their priorities: counts, locks, age, segments',
  words: [{ name: 'QUEUE', kind: 'queue', optional: true, many: true }],
  options,
  notes: [
    'COUNT includes LOCKED. OLDEST counts from the push. SCHEDULED are still for later and not in COUNT;\n' +
      'NEXT says when the first of them is due. Dead letters are the COUNT of a queue …-deadletter: --sort\n' +
      'dead shows these, the longest first. DYING are on their way there, mostly for a moment.',
    '--sort looks at 1,000 queues at most, a request each; by count or dead, at 100,000.',
  ],
  examples: [
    'pushpop stats',
    'pushpop stats --prefix tenant-7. --watch',
    'pushpop stats --sort oldest --limit 10',
    'pushpop stats --sort dead',
  ],
  async run(context): Promise<ExitCode> {
    const { given, words, io, isJson } = context
    if (given.prefix !== undefined && words.length > 0) {
      throw wrongUsage('Cannot show stats because queues and --prefix contradict each other')
    }
    if (given.watch && !isJson) {
      if (!io.stdout.isTTY) {
        throw wrongUsage(
          'Cannot watch because stdout is not a terminal; --json prints a line each time',
        )
      }
      return watch(context)
    }
    for (;;) {
      const snapshot = await look(context)
      if (isJson) await context.print(snapshotJson(snapshot))
      else await show(context, snapshot)
      const ends = !given.watch || (await isOver(context))
      if (ends) return snapshot.unread.length > 0 ? exitCodes.failed : exitCodes.done
    }
  },
})

async function look({ given, words, target }: Run): Promise<Snapshot> {
  const { prefix, sort, limit = LIMIT_STANDARD } = given
  return snapshotOf(await target(), { queues: words, prefix, limit, sort })
}

const snapshotJson = ({ states, unread, isMore, unseenAfter }: Snapshot): string =>
  JSON.stringify({
    queues: states.map(stateBody),
    failed: unread.length > 0 ? unread.map(failureOf) : undefined,
    more: isMore || undefined,
    sorted_among: unseenAfter,
  })

function failureOf({ queue, error }: Snapshot['unread'][number]) {
  const { code, sentence } = explain(error)
  return { queue, error_code: code, message: sentence }
}

const unreadLines = ({ unread }: Snapshot): string[] =>
  unread.map(({ queue, error }) => `${queue}: ${explain(error).sentence}`)

async function show({ given, io, print, tell, paint, paintOut }: Run, snapshot: Snapshot) {
  const { states, isMore, unseenAfter } = snapshot
  if (states.length === 0) return tell(nothingThere(given))
  const width = io.stdout.isTTY ? io.stdout.columns : undefined
  const [title = '', ...lines] = statsLines(states, Date.now(), width)
  await print(paintOut('dim', title))
  for (const line of lines) await print(line)
  for (const line of unreadLines(snapshot)) tell(paint('red', line))
  if (unseenAfter !== undefined) {
    tell(`Sorted among the first ${counted(unseenAfter, 'queue')} by name; --prefix narrows that.`)
  } else if (isMore)
    tell(`The first ${counted(states.length, 'queue')}; --limit and --prefix show others.`)
}

const nothingThere = ({ sort, prefix }: Run['given']): string => {
  const where = prefix === undefined ? '' : ` whose id begins with ${JSON.stringify(prefix)}`
  return sort === 'dead'
    ? `There is no queue with dead letters${where}.`
    : `There is no queue${where || ' yet'}.`
}

/** Goes on after a failed look, as when a laptop sleeps: the screen shows the failure. */
async function watch(context: Run): Promise<ExitCode> {
  const { io, paintOut } = context
  const { name } = await context.target()
  // The first look says what is wrong with the command line before a screen hides it.
  let snapshot = await look(context)
  const screen = openScreen(io.stdout)
  let trouble: string | undefined
  try {
    for (;;) {
      const seen = clockTime(Date.now())
      const head = `${paintOut('bold', name)}  ${paintOut('dim', `${seen}, Ctrl-C ends it`)}`
      const [title = '', ...lines] = statsLines(snapshot.states, Date.now(), io.stdout.columns)
      const troubles = trouble === undefined ? unreadLines(snapshot) : [trouble]
      const warning = troubles.map((line) => paintOut('red', line))
      await screen.draw([head, ...warning, '', paintOut('dim', title), ...lines])
      if (await isOver(context)) return exitCodes.done
      try {
        snapshot = await look(context)
        trouble = undefined
      } catch (error) {
        trouble = explain(error).sentence
      }
    }
  } finally {
    screen.close()
  }
}

/** Waits for the next look; true if Ctrl-C ended the wait, which is how a watch ends. */
async function isOver({ given, interrupt }: Run): Promise<boolean> {
  const seconds = given.every ?? EVERY_SECONDS_STANDARD
  await delay(seconds * 1000, undefined, { signal: interrupt }).catch(() => {})
  return interrupt.aborted
}
