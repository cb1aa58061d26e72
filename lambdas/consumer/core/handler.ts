import type { Item } from './item.ts'

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
