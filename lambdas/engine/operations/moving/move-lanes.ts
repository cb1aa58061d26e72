import { type ErrorCode, QueueError } from '../../../foundation/errors.ts'
import type { Ranges } from '../../core/ranges.ts'
import type { Lane, QueueRecord } from '../../core/record.ts'
import { isInS3 } from '../../core/stored-in.ts'
import { busy, type Engine, pause, readRecord } from '../attempts/engine.ts'

/** More than transactions take, unless the store is in trouble; then a hundred of them must not take minutes more. */
const STANDS_BACK_MS_MAX = 200

/** One transaction that is to move items of one priority. */
type LaneMove = {
  readonly priority: number
  /** Returns nothing if it lost to another writer, or the items are somewhere else by now. */
  run(): Promise<{ readonly moved: number; readonly record: QueueRecord | undefined } | undefined>
}

export type LanesMoved = {
  readonly moved: number
  /** As the last move, or look, left the queue. */
  readonly record: QueueRecord | undefined
  /** Of the first priority that could not be moved, or of one that may have been moved all the same. */
  readonly failure: unknown
}

/** Whether it is known of items of one priority that they cannot move in this call. */
type IsStuck = (priority: number, lane: Lane, items: Ranges) => boolean

type MovingPlan = {
  readonly to: string
  readonly next: (record: QueueRecord, isStuck: IsStuck, moved: number) => LaneMove | undefined
  readonly movesMax: number
  /** Lost races, one after the other, from which on a priority counts as failed. */
  readonly lossesMax: number
  /** Priorities that may fail, each with a request of its own at least, before the call ends. */
  readonly failuresMax?: number
}

/**
 * Moves items out of a queue, transaction by transaction, as `next` finds them. A priority that fails is
 * passed, because it must not keep the others where they are, and with it all that would meet the same:
 * with hundreds of them each try would cost a request. A store that is out of reach ends it.
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
 * While a transaction lasts DynamoDB refuses all other writes to its records. One behind the other they would keep
 * a push out until it gives up, so as much time is left to the others.
 */
async function standBack({ clock }: Engine, startedMs: number): Promise<void> {
  const tookMs = clock.nowMs() - startedMs
  if (tookMs > 0) await clock.sleep(Math.min(tookMs, STANDS_BACK_MS_MAX))
}

/** It would meet the others as well, each after all its attempts. */
const isOutage = (error: unknown): boolean => codeOf(error) === 'STORE_UNAVAILABLE'

const isOpen = (error: unknown): boolean =>
  error instanceof QueueError && error.outcome === 'unknown'

const codeOf = (error: unknown): ErrorCode | undefined =>
  error instanceof QueueError ? error.code : undefined

/** Which other priorities the reason of one failure stops too. */
function othersLike(engine: Engine, to: string, error: unknown): IsStuck | undefined {
  const code = codeOf(error)
  if (code === 'SEGMENT_UNAVAILABLE') {
    return (_, lane, items) => items.some((range) => isInS3(lane, range))
  }
  // As the strong read that led to the refusal found it.
  const target = engine.memory.get(to)
  if (code !== 'TOO_MANY_PRIORITIES' || target === undefined) return undefined
  return (priority) => !target.lanes.has(priority)
}
