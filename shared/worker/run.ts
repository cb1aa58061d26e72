// What a worker works with: its item, its handler, its settings, its counts, and all that it touches outside of itself.
// The engine provides that, and so does the client, which bundles this folder: so the folder imports only what the two
// share.

import type { Told } from '../item-fields.ts'
import type { Clock } from '../system.ts'

/** An item as the handler gets it. */
export type Item<T = unknown> = Told & {
  readonly value: T
  /** The item byte for byte, with numbers that JavaScript would round. */
  readonly text: string
}

/** A queue holds nothing but JSON, so the text can be parsed. The client has done that already. */
export const itemOf = (popped: PoppedItem): Item =>
  'value' in popped ? popped : { value: JSON.parse(popped.text), ...popped }

/**
 * Does the work for a batch. If it returns, the items are acknowledged; if it throws, all of them go back.
 * It can also fail single items: by what it returns, or by the context.
 */
export type Handler<T = unknown> = (
  items: readonly Item<T>[],
  context: HandlerContext,
) => HandlerResult | Promise<HandlerResult>

/** Nothing, or the ids of items that should come again; all others are done. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is the usual one.
export type HandlerResult = void | undefined | { readonly failed: readonly string[] }

export type HandlerContext = {
  readonly queue: string
  /** PushPop extends this lock while the handler works. Keep its id secret: anybody who has it can settle the items. */
  readonly lock: { readonly id: string }
  /** Aborted when the lock is lost or the time is nearly over. Stop then: unfinished items come again. */
  readonly signal: AbortSignal
  /** The milliseconds until the function's time is nearly over. */
  remainingMs(): number
  /** Once the handler returns or throws, the item goes to the dead-letter queue. */
  deadLetter(item: Item | string, reason: string): void
  /** Once the handler returns or throws, the item goes back to the queue. */
  release(item: Item | string): void
}

/** In JavaScript no compiler checks it, and a worker without a handler would take items only to fail them. */
export function checkHandler(handler: unknown): void {
  if (typeof handler === 'function') return
  const what = handler === null || handler === undefined ? handler : `of type ${typeof handler}`
  throw new TypeError(`The handler must be a function, and is ${what}`)
}

/**
 * For code between a worker and a handler. It means that the batch was not worked, or not finished, because the
 * work is stopping. Its items come again, and none of them has failed.
 */
export class GivenUp extends Error {}

/** What a handler said about single items while it worked. */
export type Marks = {
  readonly dead: ReadonlyMap<string, string>
  readonly back: ReadonlySet<string>
}

/** What went wrong; none of it ends the work. */
export type Trouble =
  /** The handler threw: its items come again, or are dead-lettered. */
  | { readonly kind: 'handler'; readonly items: readonly Item[]; readonly error: unknown }
  /** The lock ended before its items were settled: they come again. */
  | { readonly kind: 'lock-lost'; readonly items: readonly Item[]; readonly error: unknown }
  /** A request failed for now, and is tried again. */
  | { readonly kind: 'request'; readonly what: 'pop' | 'extend'; readonly error: unknown }
  /** The answer to a pop took longer than its lock lives: its items come again. */
  | { readonly kind: 'answer-late'; readonly items: readonly Item[] }
  /** The handler is still at work although the time is over, or, with many queues, after five minutes. */
  | { readonly kind: 'handler-late'; readonly items: readonly Item[] }

/** The same for work on many queues. */
export type ManyTrouble =
  | (Trouble & { readonly queue: string })
  /** We cannot work a queue, or read the list, for now; we try again, less and less often. */
  | { readonly kind: 'queue'; readonly queue: string; readonly error: unknown }
  | { readonly kind: 'look'; readonly error: unknown }

/** How a worker works. */
export type Settings = {
  readonly batchSize: number
  readonly lockTtlSeconds: number
  /** Infinity if only the queue's own limit applies. */
  readonly deliveriesMax: number
  /** If absent, failed items come again at once, and the worker pauses while all of them fail. */
  readonly retry: Retry | undefined
  readonly locks: number
  readonly competing: boolean
  /** The handler gets a single item at a time, and the others of its lock do not wait for one that failed. */
  readonly oneByOne?: true
}

export type Retry = {
  /** By the number of deliveries; the last delay also holds for all later ones. */
  readonly delaysMs: readonly number[]
  readonly jitter: number
  readonly overtake: boolean
}

/** Whether other items go on while failed ones wait. */
export const passesBy = ({ competing, retry }: Settings): boolean =>
  competing || (retry?.overtake ?? false)

type PoppedItem = Item | Omit<Item, 'value'>

export type Popped =
  | {
      readonly kind: 'items'
      readonly items: readonly PoppedItem[]
      readonly lock?: { readonly id: string }
      readonly more: boolean
    }
  /** `more`: the pop passed over items that had expired, and others may lie behind. */
  | { readonly kind: 'empty'; readonly more?: true }
  | { readonly kind: 'locked' }

export type PopWith = {
  readonly requireAck: true
  readonly count: number
  readonly ttlSeconds: number
  readonly competing: boolean
  readonly acknowledge?: string
  readonly idempotencyKey?: string
}

type Settle = { readonly lockId: string; readonly ids?: readonly string[] }

/** The verbs that a worker uses, of the engine or over HTTP. */
export type Verbs = {
  browse(
    queue: string,
    request: { readonly limit: number },
  ): Promise<{
    readonly items: readonly {
      readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
      /** 0 before the first delivery. */
      readonly deliveries: number
    }[]
  }>
  pop(queue: string, request: PopWith): Promise<Popped>
  acknowledge(queue: string, request: Settle): Promise<unknown>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
    /** When nobody needs the answer any more. */
    signal: AbortSignal,
  ): Promise<unknown>
  release(
    queue: string,
    request: Settle & { readonly delaySeconds?: number; readonly overtake?: boolean },
  ): Promise<unknown>
  deadLetter(queue: string, request: Settle & { readonly reason: string }): Promise<unknown>
}

export type Edge = {
  readonly queues: Verbs
  readonly clock: Clock
  readonly random: () => number
  /** An idempotency key that nobody else uses. */
  readonly newKey: () => string
  readonly report: (trouble: Trouble) => void
  /** The error of a request that has no answer after so long. */
  readonly late: (ms: number) => Error
}

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
  /** Ends the pauses between pops, and the repetitions of requests that settle. */
  readonly hurry: AbortSignal
  /** Aborted when handlers should come to their end. */
  readonly timeOver: AbortSignal
  /** The longest time that a handler has taken so far. */
  longestMs: number
  /** Whether there is time for another batch. `inDoubt`: a pop whose answer was lost may have taken it. */
  mayTakeMore(inDoubt: boolean): boolean
  /** There seems to be enough for one more worker. */
  foundPlenty(): void
  /** How often in a row a pop may fail for now, before the worker does. */
  readonly troublesMax: number
  /** For a run that works many queues and has no time to wait for this one: it should come back after this long. */
  readonly comeBack?: (afterMs: number) => void
}
