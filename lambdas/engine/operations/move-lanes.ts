import { QueueError } from '../../foundation/errors.ts'
import type { QueueRecord } from '../core/record.ts'
import { busy, type Engine, pause, readRecord } from './engine.ts'

/** One transaction that is to move items of one priority. */
export type LaneMove = {
  readonly priority: number
  /** Nothing where it lost to another writer, or the items are somewhere else by now. */
  run(): Promise<{ readonly moved: number; readonly record: QueueRecord | undefined } | undefined>
}

export type LanesMoved = {
  readonly moved: number
  /** As the last move, or look, left the queue. */
  readonly record: QueueRecord | undefined
  /** Of the first priority that could not be moved. */
  readonly failure?: unknown
}

/**
 * Moves items out of a queue, transaction by transaction, as `next` finds them. A priority that fails is
 * passed, because it must not keep the others where they are; a store that is out of reach ends it.
 */
export async function moveLanes(
  engine: Engine,
  queue: string,
  {
    next,
    movesMax,
    lossesMax,
  }: {
    readonly next: (
      record: QueueRecord,
      isStuck: (priority: number) => boolean,
      moved: number,
    ) => LaneMove | undefined
    readonly movesMax: number
    /** Lost races, one after the other, from which on a priority counts as failed. */
    readonly lossesMax: number
  },
): Promise<LanesMoved> {
  const stuck = new Map<number, unknown>()
  const isStuck = (priority: number): boolean => stuck.has(priority)
  let moved = 0
  let losses = 0
  let record = await readRecord(engine, queue)
  for (let move = 1; record !== undefined && move <= movesMax; move += 1) {
    const step = next(record, isStuck, moved)
    if (step === undefined) break
    try {
      const done = await step.run()
      if (done !== undefined) {
        moved += done.moved
        losses = 0
        record = done.record ?? (await readRecord(engine, queue))
        continue
      }
      losses += 1
      if (losses === lossesMax) throw busy(queue)
      await pause(engine, losses)
    } catch (error) {
      stuck.set(step.priority, error)
      losses = 0
      if (isOutage(error)) break
    }
    record = await readRecord(engine, queue)
  }
  const [failure] = stuck.values()
  return { moved, record, ...(failure !== undefined && { failure }) }
}

/** It would meet the others as well, each after all its attempts. */
const isOutage = (error: unknown): boolean =>
  !(error instanceof QueueError) ||
  error.code === 'STORE_UNAVAILABLE' ||
  error.code === 'SEGMENT_UNAVAILABLE'
