import { type ErrorCode, QueueError } from '../../../foundation/errors.ts'
import type { Ranges } from '../../core/ranges.ts'
import type { Lane, QueueRecord } from '../../core/record.ts'
import { isInS3 } from '../../core/stored-in.ts'
import { busy, type Engine, pause, readRecord } from '../attempts/engine.ts'

/** Longer than transactions take, unless the store is in trouble; and then a hundred pauses must not take minutes. */
const STANDS_BACK_MS_MAX = 200

/** One transaction that moves items of one priority. */
type LaneMove = {
  readonly priority: number
  /** Returns nothing if it lost to another writer, or the items are somewhere else by now. */
  run(): Promise<{ readonly moved: number; readonly record: QueueRecord | undefined } | undefined>
}

export type LanesMoved = {
  readonly moved: number
  /** The queue's record after the last move or read. */
  readonly record: QueueRecord | undefined
  /** The error of a priority that may have been moved all the same, or else of the first that could not be moved. */
  readonly failure: unknown
}

/** Whether we know that these items of one priority cannot move in this call. */
type IsStuck = (priority: number, lane: Lane, items: Ranges) => boolean

type MovingPlan = {
  readonly to: string
  readonly next: (record: QueueRecord, isStuck: IsStuck, moved: number) => LaneMove | undefined
  readonly movesMax: number
  /** After this many lost races in a row, a priority counts as failed. */
  readonly lossesMax: number
  /** How many priorities may fail, each after at least one request, before the call ends. */
  readonly failuresMax?: number
}

/**
 * Moves items out of a queue, transaction by transaction, as `next` finds them. We skip a priority that fails, so
 * that it does not hold back the others, and also all priorities that would fail for the same reason: with hundreds
 * of them, each try would cost a request. If the store is out of reach, we stop.
 */
export async function moveLanes(
  engine: Engine,
  queue: string,
  { to, next, movesMax, lossesMax, failuresMax = Number.POSITIVE_INFINITY }: MovingPlan,
): Promise<LanesMoved> {
  const failures = new Map<number, unknown>()
  const othersStuck: IsStuck[] = []
  let moved = 0
  let losses = 0
  let record = await readRecord(engine, queue)
  const isStuck: IsStuck = (...item) =>
    failures.has(item[0]) || othersStuck.some((isLike) => isLike(...item))
  for (let move = 1; record !== undefined && move <= movesMax; move += 1) {
    const step = next(record, isStuck, moved)
    if (step === undefined) break
    try {
      const startedMs = engine.clock.nowMs()
      const done = await step.run()
      if (done !== undefined) {
        moved += done.moved
        losses = 0
        await standBack(engine, startedMs)
        record = done.record ?? (await readRecord(engine, queue))
        continue
      }
      losses += 1
      if (losses === lossesMax) throw busy(queue)
      await pause(engine, losses)
    } catch (error) {
      failures.set(step.priority, error)
      if (isOutage(error) || failures.size >= failuresMax) break
      const isLike = othersLike(engine, to, error)
      if (isLike !== undefined) othersStuck.push(isLike)
      const hasLost = losses > 0
      losses = 0
      // A refusal changed nothing: the record is as it was.
      if (!hasLost) continue
    }
    const seen = record
    record = await readRecord(engine, queue)
    if (seen !== undefined && record?.version === seen.version) engine.items.stillThere(seen)
  }
  const all = [...failures.values()]
  return { moved, record, failure: all.find(isOpen) ?? all[0] }
}

/**
 * While a transaction lasts, DynamoDB refuses all other writes to its records. One transaction right after another
 * would keep a push out until it gives up, so we leave the others as much time as the transaction took.
 */
async function standBack({ clock }: Engine, startedMs: number): Promise<void> {
  const tookMs = clock.nowMs() - startedMs
  if (tookMs > 0) await clock.sleep(Math.min(tookMs, STANDS_BACK_MS_MAX))
}

/** An outage would stop the other priorities, too, each after all its attempts. */
const isOutage = (error: unknown): boolean => codeOf(error) === 'STORE_UNAVAILABLE'

const isOpen = (error: unknown): boolean =>
  error instanceof QueueError && error.outcome === 'unknown'

const codeOf = (error: unknown): ErrorCode | undefined =>
  error instanceof QueueError ? error.code : undefined

/** Which other priorities would fail for the same reason. */
function othersLike(engine: Engine, to: string, error: unknown): IsStuck | undefined {
  const code = codeOf(error)
  if (code === 'SEGMENT_UNAVAILABLE') {
    return (_, lane, items) => items.some((range) => isInS3(lane, range))
  }
  // The strong read that led to the refusal has put it there.
  const target = engine.memory.get(to)
  if (code !== 'TOO_MANY_PRIORITIES' || target === undefined) return undefined
  return (priority) => !target.lanes.has(priority)
}
