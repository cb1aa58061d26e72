import type { Edge } from './edge.ts'
import type { Handler } from './handler.ts'
import type { Settings } from './settings.ts'

/** How many items had which outcome, and how often we called the handler. */
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
 * How a worker ended, ordered from the least work left to the most:
 * - `empty`: nothing was left to pop, and the record says so, so the next push makes an event.
 * - `locked`: another consumer works on the queue, and goes on until it is empty.
 * - `waiting`: failed items hold back the others, and make an event when they come back; or, if we work
 *   many queues, the queue has reached its limit.
 * - `crowded`: too many items are in locks, or dead. When some come back, or have moved, that makes an event.
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
  /** The longest time that a handler has taken so far. */
  longestMs: number
  /** Whether there is time for another batch. `inDoubt`: a pop whose answer was lost may have taken it. */
  mayTakeMore(inDoubt: boolean): boolean
  /** There seems to be enough for one more worker. */
  foundPlenty(): void
  /** For a run that works many queues and has no time to wait for this one: it should come back after this long. */
  readonly comeBack?: (afterMs: number) => void
}

export type Retry = {
  /** By the number of deliveries; the last delay also holds for all later ones. */
  readonly delaysMs: readonly number[]
  readonly jitter: number
  readonly overtake: boolean
}
