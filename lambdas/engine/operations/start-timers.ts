import { timersKey } from '../core/keys.ts'
import { hasFree } from '../core/marks.ts'
import type { QueueRecord } from '../core/record.ts'
import type { StartTimersReport } from '../queues.ts'
import { changeOf, commit, type Engine, pause } from './engine.ts'
import { sideBySide } from './side-by-side.ts'
import { type WalkPlace, walkOn, walkStart } from './walk.ts'

const QUEUES_AT_ONCE = 16
const ATTEMPTS_MAX = 4
/** Places are written down this often, so that a run which is cut off repeats little. */
const PAGES_PER_NOTE = 10

/**
 * After a walk that had to pass some queues, another is made, each time after twice as long: what was
 * throttled is there soon, and what is of a newer format once this engine is deployed anew. After eight,
 * a day later, no more: what such a queue needs then is a push, which starts its timer by itself.
 */
const WALKS_MAX = 8
const NEXT_WALK_MS = 10 * 60_000

/**
 * `shard` and `after`: where the walk goes on; neither once it is done. `failed`: queues that it has
 * passed so far. `walks` and `againAtMs`: walks that passed some, and when the next begins.
 */
type StoredWalk = {
  readonly shard?: number
  readonly after?: string
  readonly failed?: number
  readonly walks?: number
  readonly againAtMs?: number
}

/**
 * Items that wait have a timer, because every push sees to it. But not those that were pushed while
 * events were off, or by an engine from before there were such timers. So when the sweeper starts and a
 * table has not been walked through since events were turned on, it goes through all queues once, and a
 * row of the table remembers how far it has come. Where events are off, that row goes.
 */
export async function startTimers(
  engine: Engine,
  { deadlineMs }: { readonly deadlineMs: number },
): Promise<StartTimersReport> {
  const row = (await engine.dynamo.get(timersKey, true)) as StoredWalk | undefined
  const report = { queues: 0, started: 0, failed: 0 }
  if (!engine.events) {
    if (row !== undefined) await engine.dynamo.deleteMany([timersKey])
    return { ...report, finished: true }
  }
  if (row?.againAtMs !== undefined && engine.clock.nowMs() < row.againAtMs) {
    return { ...report, finished: false }
  }
  const { walks = 0, failed: failedBefore = 0 } = row ?? {}
  let place = placeIn(row)
  if (place === undefined) return { ...report, finished: true }
  let finished = false
  for (let page = 1; place !== undefined && engine.clock.nowMs() < deadlineMs; page += 1) {
    const { records, unread, next } = await walkOn(engine, '', place)
    report.queues += records.length + unread.length
    for (const { queue, error } of unread) passed(engine, queue, error, report)
    await sideBySide(records.filter(needsTimer), QUEUES_AT_ONCE, async (record) => {
      try {
        if (await startTimer(engine, record)) report.started += 1
      } catch (error) {
        passed(engine, record.queue, error, report)
      }
    })
    place = next
    const isLast = place === undefined || engine.clock.nowMs() >= deadlineMs
    if (!isLast && page % PAGES_PER_NOTE !== 0) continue
    const failed = failedBefore + report.failed
    const stored: StoredWalk =
      place === undefined
        ? afterWalk(engine, failed, walks)
        : { ...place, ...(failed > 0 && { failed }), ...(walks > 0 && { walks }) }
    await engine.dynamo.putMany([{ ...timersKey, ...stored }])
    finished = place === undefined && stored.againAtMs === undefined
  }
  return { ...report, finished }
}

function afterWalk(engine: Engine, failed: number, walks: number): StoredWalk {
  if (failed === 0 || walks + 1 >= WALKS_MAX) return {}
  return { walks: walks + 1, againAtMs: engine.clock.nowMs() + NEXT_WALK_MS * 2 ** walks }
}

function passed(engine: Engine, queue: string, error: unknown, report: { failed: number }): void {
  report.failed += 1
  engine.onBackgroundError(error, { queue, step: 'start-timer' })
}

function placeIn(row: StoredWalk | undefined): WalkPlace | undefined {
  if (row === undefined) return walkStart
  const { shard, after, againAtMs } = row
  if (againAtMs !== undefined) return walkStart
  return shard === undefined ? undefined : { shard, ...(after !== undefined && { after }) }
}

const needsTimer = (record: QueueRecord): boolean =>
  record.checkAtMs === undefined && hasFree(record)

/** Any fenced write starts it; one that loses to another was not needed, or is tried again. */
async function startTimer(engine: Engine, seen: QueueRecord): Promise<boolean> {
  let record: QueueRecord | undefined = seen
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined || !needsTimer(record)) return false
    const change = changeOf(engine, record, record, { nowMs: engine.clock.nowMs() })
    const committed = await commit(engine, change)
    if (committed.kind === 'committed') return true
    record = committed.kind === 'lost' ? committed.current : undefined
    await pause(engine, attempt)
  }
  return false
}
