// The walk that gives the patterns' settings to the queues that are there. It may be:
//
//   asked for   somebody changed the patterns, or made a queue without knowing them: `asked` counts that
//   waiting     the sweeper has noted it, and begins at `beginMs`
//   under way   it goes once around all queues, even if somebody asks for another meanwhile
//   over        there are no patterns, and nothing is left for a walk to put right
//
// All times come from the sweeper's clock: a caller's may be wrong by hours. Several sweepers may walk at once: of two
// that begin or end a walk one passes, and the other reads the row again; if both note a place, some queues are looked
// at twice.

import type { Row } from '../../aws/dynamo.ts'
import { Expression } from '../../aws/table.ts'
import { PATTERNS_KEPT_MS } from '../../rate/core/bounds.ts'
import { patternsWalkKey } from '../core/keys.ts'
import { type QueueRecord, reconfigured } from '../core/record.ts'
import { type QueuePatterns, repatterned } from '../core/settings.ts'
import { attempts } from '../driver/attempts.ts'
import { answer, asStored, done } from '../driver/decision.ts'
import { boundedBy, type Engine } from '../driver/engine.ts'
import { DUE, readQueuePatterns } from '../driver/queue-settings.ts'
import { type WalkPage, type WalkPlace, walkOn, walkToNextShard } from '../verbs/list-queues.ts'
import { type SweepFailure, sideBySide } from './due-queues.ts'

type PatternsReport = {
  readonly onFailed: (failure: SweepFailure) => void
  readonly onMore: () => void
}

/**
 * We send a page's requests within this time after a look at the patterns, so that a sweeper that was frozen does not
 * write settings from outdated patterns.
 */
const PAGE_MS = 10_000
/** A page mostly takes a tenth of a second; without time for it we had better not begin it. */
const PAGE_MIN_MS = 250

/**
 * Gives queues without their own settings those that the patterns say, page by page through the directory, until the
 * time is up: a row remembers the place, and the next sweep goes on there. A queue that has them already costs one
 * read.
 */
export async function applyPatterns(
  engine: Engine,
  untilMs: number,
  { onFailed, onMore }: PatternsReport,
): Promise<void> {
  const { clock } = engine
  let pageMs = PAGE_MIN_MS
  let isRepeated = false
  try {
    let look = await lookAt(engine)
    for (;;) {
      const beganMs = clock.nowMs()
      const walk = walkNow(look.walk, beganMs)
      if (walk === undefined) return
      if (walk.underWay === undefined || walk !== look.walk) {
        look = await note(engine, look, walkUpdate(look.walk, walk))
        continue
      }
      if (beganMs + pageMs > untilMs) return onMore()
      const { place } = walk.underWay
      const deadlineMs = Math.min(look.atMs + PAGE_MS, untilMs)
      const mayRepeat = !isRepeated && deadlineMs < untilMs
      const page = await applyPage(engine, { deadlineMs, mayRepeat }, look.patterns, place)
      isRepeated = page.kind === 'cut'
      pageMs = Math.max(pageMs, clock.nowMs() - beganMs)
      if (page.kind === 'cut') {
        look = await lookAt(engine)
        continue
      }
      for (const failure of page.failures) onFailed(failure)
      look = await note(engine, look, afterPage(look, page, clock.nowMs()))
    }
  } catch (error) {
    // The walk's timer stays due.
    onFailed({ queue: '', error })
    onMore()
  }
}

/** The walk and the patterns, which were the newest at that time. */
type Look = { readonly atMs: number; readonly walk: PatternsWalk; readonly patterns: QueuePatterns }

/** Reads the walk first: patterns that we read after it are at least as new as the request it notes. */
async function lookAt(engine: Engine): Promise<Look> {
  const atMs = engine.clock.nowMs()
  const walk = decodePatternsWalk(await engine.dynamo.get(patternsWalkKey, true))
  return { atMs, walk, patterns: await readQueuePatterns(engine) }
}

/** The row that it leaves says whether the patterns have changed, so this counts as a look, too. */
async function note(
  engine: Engine,
  look: Look,
  update: ReturnType<typeof walkUpdate>,
): Promise<Look> {
  const atMs = engine.clock.nowMs()
  const written = await engine.dynamo.update(patternsWalkKey, update)
  // The write was refused, or we do not know: the row as it is now tells what is left to do.
  if (written.kind !== 'done') return lookAt(engine)
  const walk = decodePatternsWalk(written.row)
  return walk.asked === look.walk.asked ? { ...look, atMs, walk } : lookAt(engine)
}

function afterPage(
  { walk, patterns }: Look,
  { next, failures }: Extract<Awaited<ReturnType<typeof applyPage>>, { kind: 'done' }>,
  nowMs: number,
): ReturnType<typeof walkUpdate> {
  const { underWay } = walk
  const failed = failures.length > 0
  if (next !== undefined) return placeUpdate(walk, next, failed)
  const whole = failed && underWay ? { ...walk, underWay: { ...underWay, failed } } : walk
  return walkUpdate(walk, walkEnded(whole, nowMs, { isLast: patterns.patterns.length === 0 }))
}

type Page =
  | {
      readonly kind: 'done'
      readonly next: WalkPlace | undefined
      /** Queues that we skipped; a later walk comes to them. */
      readonly failures: readonly SweepFailure[]
    }
  /** The time was up before every queue had its turn, so the page must be done again. */
  | { readonly kind: 'cut' }

/**
 * Gives a page of queues the settings that the patterns say. We skip records that cannot be read or written, so that
 * they do not block others. We repeat a page that was cut as long as it makes progress, and once more if it ran out
 * of its own time rather than the caller's: a process that was frozen must not skip a hundred queues.
 */
async function applyPage(
  engine: Engine,
  { deadlineMs, mayRepeat }: { readonly deadlineMs: number; readonly mayRepeat: boolean },
  patterns: QueuePatterns,
  place: WalkPlace,
): Promise<Page> {
  const isOver = (): boolean => engine.clock.nowMs() >= deadlineMs
  const bounded = boundedBy(engine, deadlineMs)
  let page: WalkPage
  try {
    page = await walkOn(bounded, '', place)
  } catch (error) {
    if (mayRepeat && isOver()) return { kind: 'cut' }
    const { shard } = place
    return { kind: 'done', next: walkToNextShard(place), failures: [{ shard, error }] }
  }
  const { applied, failures } = await applyTo(bounded, patterns, page)
  if (failures.length > 0 && isOver() && (applied > 0 || mayRepeat)) return { kind: 'cut' }
  return { kind: 'done', next: page.next, failures }
}

/** As many as the visits of a sweep: mostly, each is one write that waits for the store. */
const QUEUES_AT_ONCE = 32

async function applyTo(
  engine: Engine,
  patterns: QueuePatterns,
  { records, unread }: WalkPage,
): Promise<{ applied: number; failures: readonly SweepFailure[] }> {
  const failures: SweepFailure[] = []
  let applied = 0
  const wanting = records.filter((one) => repatterned(one.configuration, patterns, one.queue))
  // A record that the page read did not return may come when read alone.
  const queues = [...wanting, ...unread.map(({ queue }) => ({ queue }))]
  await sideBySide(queues, QUEUES_AT_ONCE, async (one) => {
    const { queue } = one
    try {
      const record = 'version' in one ? one : await engine.records.read(queue)
      const isApplied = record !== undefined && (await applyToQueue(engine, patterns, record))
      if (isApplied) applied += 1
    } catch (error) {
      failures.push({ queue, error })
    }
  })
  return { applied, failures }
}

const ATTEMPTS_MAX = 24
const HOLDS_FROM = 3

function applyToQueue(
  engine: Engine,
  patterns: QueuePatterns,
  seen: QueueRecord,
): Promise<boolean> {
  const { queue } = seen
  const course = { from: asStored(seen), attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM }
  return attempts<boolean>(engine, queue, course, ({ record, nowMs }) => {
    const after = record && repatterned(record.configuration, patterns, queue)
    if (record === undefined || after === undefined) return answer(false)
    const change = engine.records.change(record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change, landed: () => done(true) }
  })
}

export type PatternsWalk = {
  /** How many walks callers have asked for, and how many of these requests the sweeper has noted. */
  readonly asked: number
  readonly noted: number
  /** A walk counts if it began at this time or later, when no process uses older patterns any more. */
  readonly settledMs: number
  /** When the next begins; absent while one is under way, and when there is nothing left to do. */
  readonly beginMs?: number
  readonly underWay?: {
    /** Tells it from any other walk. */
    readonly startedMs: number
    readonly place: WalkPlace
    /** It had to skip a queue or a shard. */
    readonly failed: boolean
  }
  /** Walks done that count. */
  readonly walks: number
}

/**
 * Processes use patterns for half a minute after they have read them. The extra quarter of a minute allows for
 * clocks that differ, and for an index that learns of a new queue a moment late.
 */
export const WALK_AFTER_MS = PATTERNS_KEPT_MS + 15_000
/**
 * We repeat the walk after a quarter of an hour, then after four times as long each time, and at last once a day
 * while there are patterns. It finds what the first could not: a record that the store failed to return, or a queue
 * made by a process that was frozen, or by a request that was under way, for longer than the first walk waits.
 * 10,000 queues cost about $0.04 a month.
 */
const FIRST_PAUSE_MS = 15 * 60_000
const LAST_PAUSE_MS = 86_400_000

/** The walk's next state; undefined if nothing is due. More requests never put off a walk that waits. */
export function walkNow(walk: PatternsWalk, nowMs: number): PatternsWalk | undefined {
  if (walk.asked !== walk.noted) return noted(walk, nowMs)
  if (walk.underWay !== undefined) return walk
  const { beginMs, ...rest } = walk
  if (beginMs === undefined || beginMs > nowMs) return undefined
  return { ...rest, underWay: { startedMs: nowMs, place: { shard: 0 }, failed: false } }
}

function noted(walk: PatternsWalk, nowMs: number): PatternsWalk {
  const settledMs = nowMs + WALK_AFTER_MS
  const beginMs = Math.min(walk.beginMs ?? settledMs, settledMs)
  return {
    ...walk,
    noted: walk.asked,
    settledMs,
    walks: 0,
    ...(walk.underWay === undefined && { beginMs }),
  }
}

/** The walk that was under way has gone once around all queues. */
export function walkEnded(
  { underWay, ...walk }: PatternsWalk,
  nowMs: number,
  { isLast }: { readonly isLast: boolean },
): PatternsWalk {
  // It began too early to meet every queue with the newest patterns.
  if (underWay === undefined || underWay.startedMs < walk.settledMs) {
    return { ...walk, beginMs: Math.max(nowMs, walk.settledMs) }
  }
  const pauseMs = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 4 ** walk.walks)
  const after = { ...walk, walks: walk.walks + 1 }
  const isOver = isLast && pauseMs === LAST_PAUSE_MS && !underWay.failed
  return isOver ? after : { ...after, beginMs: nowMs + pauseMs }
}

type Stored = {
  readonly a: number
  readonly r?: number
  readonly e?: number
  readonly b?: number
  readonly s?: number
  readonly w?: WalkPlace
  readonly f?: true
  readonly n?: number
}

export function decodePatternsWalk(row: Row | undefined): PatternsWalk {
  const { a = 0, r = 0, e = 0, b, s, w, f = false, n = 0 } = (row ?? {}) as Partial<Stored>
  return {
    asked: a,
    noted: r,
    settledMs: e,
    ...(b !== undefined && { beginMs: b }),
    ...(s !== undefined && w !== undefined && { underWay: { startedMs: s, place: w, failed: f } }),
    walks: n,
  }
}

/**
 * Writes the next state of the walk. DynamoDB refuses it if somebody asked for another walk meanwhile, or another
 * sweeper began or ended one: then we read the row again.
 */
export function walkUpdate(
  before: PatternsWalk,
  after: PatternsWalk,
): ReturnType<Expression['build']> {
  const update = new Expression()
  update.condition(`a=${update.value(before.asked)}`)
  conditionOfSameWalk(update, before)
  update.set('r', after.noted)
  update.set('e', after.settledMs)
  update.set('n', after.walks)
  const { beginMs, underWay } = after
  const optional = {
    b: beginMs,
    s: underWay?.startedMs,
    w: underWay?.place,
    f: underWay?.failed || undefined,
    checkAt: underWay ? DUE : beginMs,
  }
  for (const [name, value] of Object.entries(optional)) {
    if (value === undefined) update.removes.push(name)
    else update.set(name, value)
  }
  return update.build()
}

/**
 * Notes how far a walk has come, no matter what anybody asked for meanwhile. It may overwrite a place that another
 * sweeper noted with an earlier one: then we look at some queues twice.
 */
function placeUpdate(
  walk: PatternsWalk,
  place: WalkPlace,
  failed: boolean,
): ReturnType<Expression['build']> {
  const update = new Expression()
  conditionOfSameWalk(update, walk)
  update.set('w', place)
  if (failed) update.set('f', true)
  return update.build()
}

function conditionOfSameWalk(update: Expression, { underWay }: PatternsWalk): void {
  update.condition(
    underWay === undefined ? 'attribute_not_exists(s)' : `s=${update.value(underWay.startedMs)}`,
  )
}
