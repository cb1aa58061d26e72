import type { Item } from './item.ts'

/**
 * Does the work for a batch. What returns is acknowledged; what it throws gives the whole batch back.
 * In between, items fail one by one: by what is returned, or by the context.
 */
export type Handler<T = unknown> = (
  items: readonly Item<T>[],
  context: HandlerContext,
) => HandlerResult | Promise<HandlerResult>

/** Nothing, or the ids of items that are to come again; all others are done. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is the usual one.
export type HandlerResult = void | undefined | { readonly failed: readonly string[] }

export type HandlerContext = {
  readonly queue: string
  /** Held, and extended, while the handler works. Its id is a secret: whoever has it may settle. */
  readonly lock: { readonly id: string }
  /** Aborted when the lock is lost, or the function's time is nearly over: stop, what is not done comes again. */
  readonly signal: AbortSignal
  /** Until then. */
  remainingMs(): number
  /** Once the handler returns or throws, the item goes to the dead-letter queue. */
  deadLetter(item: Item | string, reason: string): void
  /** Once the handler returns or throws, the item goes back to the queue. */
  release(item: Item | string): void
}

/** What a handler said about single items while it worked. */
export type Marks = {
  readonly dead: ReadonlyMap<string, string>
  readonly back: ReadonlySet<string>
}
