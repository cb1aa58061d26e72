import { timersKey } from '../core/keys.ts'
import { hasFree } from '../core/marks.ts'
import type { QueueRecord } from '../core/record.ts'
import type { StartTimersReport } from '../verbs.ts'
import { attempts } from './attempts.ts'
import { done } from './decision.ts'
import { changeOf, type Engine } from './engine.ts'
import { sideBySide } from './side-by-side.ts'
import { type WalkPlace, walkOn, walkStart } from './walk.ts'

const QUEUES_AT_ONCE = 16
const ATTEMPTS_MAX = 4
/** Places are written down this often, so that a run which is cut off repeats little. */
const PAGES_PER_NOTE = 10

/** `shard` and `after`: where the walk goes on; neither once it is done. */
type StoredWalk = { readonly shard?: number; readonly after?: string }

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
  if (!engine.events) {
    if (row !== undefined) await engine.dynamo.deleteMany([timersKey])
    return { queues: 0, started: 0, finished: true }
  }
  let place = placeIn(row)
  let queues = 0
  let started = 0
  for (let page = 1; place !== undefined && engine.clock.nowMs() < deadlineMs; page += 1) {
    const { records, next } = await walkOn(engine, '', place)
    queues += records.length
    await sideBySide(records.filter(needsTimer), QUEUES_AT_ONCE, async (record) => {
      if (await startTimer(engine, record)) started += 1
    })
    place = next
    const isLast = place === undefined || engine.clock.nowMs() >= deadlineMs
    if (isLast || page % PAGES_PER_NOTE === 0) {
      await engine.dynamo.putMany([{ ...timersKey, ...place }])
    }
  }
  return { queues, started, finished: place === undefined }
}

function placeIn(row: StoredWalk | undefined): WalkPlace | undefined {
  if (row === undefined) return walkStart
  const { shard, after } = row
  return shard === undefined ? undefined : { shard, ...(after !== undefined && { after }) }
}

const needsTimer = (record: QueueRecord): boolean =>
  record.checkAtMs === undefined && hasFree(record)

/** Any fenced write starts it; one that loses to another was not needed, or is tried again. */
function startTimer(engine: Engine, seen: QueueRecord): Promise<boolean> {
  const course = { from: { record: seen }, attemptsMax: ATTEMPTS_MAX, exhausted: () => false }
  return attempts<boolean>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined || !needsTimer(record)) return { kind: 'answer', answer: false }
    const change = changeOf(engine, record, record, { nowMs })
    return { kind: 'write', change, landed: () => done(true) }
  })
}
