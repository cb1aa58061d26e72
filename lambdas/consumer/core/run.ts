import type { Edge } from './edge.ts'
import type { Handler } from './handler.ts'
import type { Settings } from './settings.ts'

/** Items by what became of them, and how often the handler was called. */
export type Counts = {
  batches: number
  acknowledged: number
  released: number
  deadLettered: number
}

export const noCounts = (): Counts => ({
  batches: 0,
  acknowledged: 0,
  released: 0,
  deadLettered: 0,
})

/**
 * How a worker ended, from the least that is left to do to the most:
 * - `empty`: nothing was left to pop, and the record says so, so the next push is an event.
 * - `locked`: another consumer works on the queue, and goes on until it is empty.
 * - `waiting`: failed items come back later, which is an event, and hold back the others; or, where many
 *   queues are worked, the queue's limit is reached.
 * - `crowded`: too many items are in locks, or dead. When some come back, or have moved, that is an event.
 * - `continued`: the time was over; when all workers have ended, we call the next run.
 */
export const endings = ['empty', 'locked', 'waiting', 'crowded', 'continued'] as const
export type Ending = (typeof endings)[number]

/** What the workers of one run share. */
export type Run = {
  readonly queue: string
  readonly settings: Settings
  readonly handler: Handler
  readonly edge: Edge
  readonly counts: Counts
  /** Until the platform stops the process. */
  remainingMs(): number
  /** Aborted when handlers should come to their end. */
  readonly timeOver: AbortSignal
  /** The longest that a handler took so far. */
  longestMs: number
  /** Whether there is time for another batch. `inDoubt`: a pop whose answer was lost may have taken it. */
  mayTakeMore(inDoubt: boolean): boolean
  /** There seems to be enough for one more worker. */
  foundPlenty(): void
  /** For a run that works many queues and has no time to wait for this one: it should come back after this long. */
  readonly comeBack?: (afterMs: number) => void
}
