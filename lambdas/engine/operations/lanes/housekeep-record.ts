import { isAnythingDue, planHousekeeping } from '../../core/housekeeping.ts'
import { recordKey } from '../../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS } from '../../core/limits.ts'
import { hasOldNotes } from '../../core/notes.ts'
import type { QueueRecord } from '../../core/record.ts'
import { patiently } from '../../core/timers.ts'
import { checkAtUpdate } from '../../store/timer-update.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, answer, asStored, done, lost } from '../attempts/decision.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'
import { moveNotes, seal } from './seal.ts'
import { moveOn, type Report, workOn } from './segment-round.ts'
import { dropLateCopies } from './segment-work.ts'

/** How much one run may do; if more is left, the run's last write wakes the next one. */
const ROUNDS_MAX = 6
/** Writes that leave a timer for the next run, each on the record that the one before it met. */
const LOOKS_MAX = 8

type Buried = { readonly moved: number; readonly failure: unknown }

export type Chores = {
  /** Drops every empty lane. */
  readonly dropEmpty: boolean
  /** Moves the dead. The caller passes it in: it makes lanes, and making room for a lane calls this file. */
  readonly bury?: ((engine: Engine, queue: string) => Promise<Buried>) | undefined
}

const nothingDone: Report = {
  sealed: 0,
  offloaded: 0,
  recalled: 0,
  trimmed: 0,
  deadLettered: 0,
  dropped: 0,
  finished: false,
}

export async function housekeepRecord(
  engine: Engine,
  queue: string,
  first: QueueRecord | undefined,
  { dropEmpty, bury }: Chores,
): Promise<Report> {
  const report: Report = { ...nothingDone }
  let record = first
  let stuck: unknown
  let isDeadLeft = bury === undefined
  try {
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      if (record === undefined) return { ...report, finished: true }
      const plan = planHousekeeping(record, dropEmpty)
      const sealed = plan.seal ? await seal(engine, record) : 0
      report.sealed += sealed
      const movesNotes = hasOldNotes(record, engine.clock.nowMs())
      if (movesNotes) await moveNotes(engine, record)
      const buries = plan.dead.length > 0 && !isDeadLeft
      if (buries && bury !== undefined) {
        const buried = await bury(engine, queue)
        report.deadLettered += buried.moved
        stuck = buried.failure
        isDeadLeft = stuck !== undefined
      }
      if (plan.seal || movesNotes || buries) record = await readRecord(engine, queue)
      if (record === undefined) return { ...report, finished: true }
      const planned: QueueRecord = record
      const { work, failed } = await workOn(engine, planned, planHousekeeping(planned, dropEmpty))
      if (work.length === 0 && failed.length === 0 && !planned.work) {
        return { ...report, finished: true }
      }
      record = await moveOn(engine, planned, work, report)
      await dropLateCopies(engine, planned, [...work, ...failed.map(({ item }) => item)])
      const [failure] = failed
      if (failure !== undefined) {
        record = await readRecord(engine, queue)
        // The queue has moved on, and the items that the plan would copy are gone: plan again.
        if (record?.version === planned.version) {
          engine.items.stillThere(planned)
          throw failure.error
        }
        continue
      }
      if (record === undefined) return { ...report, finished: true }
      const left = planHousekeeping(record, dropEmpty)
      if (!isAnythingDue(isDeadLeft ? { ...left, dead: [] } : left)) {
        const finished = stuck === undefined && left.dead.length === 0
        if (finished || (stuck === undefined && hasTimer(engine, record))) {
          return { ...report, finished }
        }
        break
      }
    }
    if (stuck !== undefined) engine.onBackgroundError(stuck, { queue, step: 'dead-letter' })
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'housekeep' })
  }
  await lookAgain(engine, queue)
  return report
}

/** Whether the sweeper comes at least as soon as it would for a timer set now. */
const hasTimer = (engine: Engine, { checkAtMs }: QueueRecord): boolean =>
  checkAtMs !== undefined && checkAtMs <= engine.clock.nowMs() + HOUSEKEEPING_RETRY_MS

/** Leaves a timer for the sweeper. It is always safe to lower `checkAt`, at any version. */
export async function lookAgain(engine: Engine, queue: string): Promise<void> {
  const course = { from: 'memory-or-store', attemptsMax: LOOKS_MAX, pausesFrom: 2 } as const
  await attempts<void>(engine, queue, course, ({ record, nowMs }) => {
    if (record === undefined) return answer(undefined)
    return act(async () => {
      const update = checkAtUpdate(record, patiently(nowMs + HOUSEKEEPING_RETRY_MS), nowMs)
      const written = await engine.dynamo.update(recordKey(queue), update)
      // To set it once more does no harm.
      if (written.kind === 'unknown') return lost(asStored(await readRecord(engine, queue)))
      const after = seen(engine, queue, written.row)
      return written.kind === 'done' ? done(undefined) : lost(asStored(after))
    })
  }).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'look-again' })
  })
}
