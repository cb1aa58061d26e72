import { setTimeout as delay } from 'node:timers/promises'
import { stateBody } from '../../lambdas/http/state-body.ts'
import { choice, flag, integer, text } from '../arguments/option-table.ts'
import type { Context } from '../command.ts'
import { command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { explain } from '../explain.ts'
import { wrongUsage } from '../failure.ts'
import { statsLines } from '../stats/show.ts'
import { type Snapshot, snapshotOf, sortings } from '../stats/snapshot.ts'
import { clockTime, counted } from '../terminal/amounts.ts'
import { openScreen } from '../terminal/screen.ts'

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
