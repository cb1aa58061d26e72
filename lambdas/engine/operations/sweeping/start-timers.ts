import { timersKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { lacksTimer } from '../../core/reminder.ts'
import type { StartTimersReport } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { answer, asStored, done } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { type WalkPlace, walkOn, walkStart } from '../looking/walk.ts'
import { sideBySide } from './side-by-side.ts'

const QUEUES_AT_ONCE = 16
const ATTEMPTS_MAX = 4
/** We note the place after this many pages, so that little is repeated after a run was cut off. */
const PAGES_PER_NOTE = 10

/**
 * A consumer bundles the engine, and an old engine's first push starts no timer for as long as nobody
 * deploys that consumer again. So the walk is repeated. A page of 100 queues is one query and one read of
 * 100 records, some 100 read units: 50,000 queues once a day cost about $0.20 a month, 1,000 less
 * than a cent.
 */
const WALK_EVERY_MS = 86_400_000
/**
 * After a walk that had to skip some queues, the next comes sooner, after twice as long each time: we can read a
 * throttled record soon, and one of a newer format once somebody has deployed this engine anew.
 */
const NEXT_WALK_MS = 3_600_000

/**
 * `shard` and `after`: where the walk goes on; neither once it is done. `againAtMs`: when the next begins.
 * `failed`: queues that this walk has skipped so far. `walks`: how many in a row skipped some.
 */
type StoredWalk = {
  readonly shard?: number
  readonly after?: string
  readonly againAtMs?: number
  readonly failed?: number
  readonly walks?: number
}

/**
 * Waiting items have a timer, because every push sees to it. But items that were pushed while events were
 * off, or by an engine older than such timers, have none; and a process may have died before it brought a timer near
 * that was too far away. So the sweeper goes through all queues once events are turned on, and then once a day; a row
 * of the table remembers how far it has come, and when the next walk begins. If events are off, we delete that row.
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
  const { walks = 0, failed: failedBefore = 0 } = row ?? {}
  let place = placeIn(row, engine.clock.nowMs())
  for (let page = 1; place !== undefined && engine.clock.nowMs() < deadlineMs; page += 1) {
    const { records, unread, next } = await walkOn(engine, '', place)
    report.queues += records.length + unread.length
    for (const { queue, error } of unread) passed(engine, queue, error, report)
    const nowMs = engine.clock.nowMs()
    const waiting = records.filter((record) => lacksTimer(record, nowMs))
    await sideBySide(waiting, QUEUES_AT_ONCE, async (record) => {
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
      place === undefined ? afterWalk(engine, failed, walks) : { ...place, failed, walks }
    await engine.dynamo.putMany([{ ...timersKey, ...stored }])
  }
  return { ...report, finished: place === undefined }
}

function afterWalk(engine: Engine, failed: number, walks: number): StoredWalk {
  const nowMs = engine.clock.nowMs()
  if (failed === 0) return { againAtMs: nowMs + WALK_EVERY_MS }
  const pauseMs = Math.min(WALK_EVERY_MS, NEXT_WALK_MS * 2 ** walks)
  return { againAtMs: nowMs + pauseMs, walks: walks + 1 }
}

function passed(engine: Engine, queue: string, error: unknown, report: { failed: number }): void {
  report.failed += 1
  engine.onBackgroundError(error, { queue, step: 'start-timer' })
}

function placeIn(row: StoredWalk | undefined, nowMs: number): WalkPlace | undefined {
  if (row === undefined) return walkStart
  const { shard, after, againAtMs = 0 } = row
  if (shard !== undefined) return { shard, ...(after !== undefined && { after }) }
  return nowMs < againAtMs ? undefined : walkStart
}

/** Any fenced write starts the timer. If ours loses to another, it was not needed, or we try it again. */
function startTimer(engine: Engine, seen: QueueRecord): Promise<boolean> {
  const course = { from: asStored(seen), attemptsMax: ATTEMPTS_MAX, exhausted: () => false }
  return attempts<boolean>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined || !lacksTimer(record, nowMs)) return answer(false)
    const change = changeOf(engine, record, record, { nowMs })
    return { kind: 'write', change, landed: () => done(true) }
  })
}
