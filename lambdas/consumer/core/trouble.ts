import type { Item } from './item.ts'

/** What went wrong; none of it ends the work. */
export type Trouble =
  /** The handler threw: its items come again, or are dead-lettered. */
  | { readonly kind: 'handler'; readonly items: readonly Item[]; readonly error: unknown }
  /** The lock ended before its items were settled: they come again. */
  | { readonly kind: 'lock-lost'; readonly items: readonly Item[]; readonly error: unknown }
  /** A request failed for now, and is tried again. */
  | { readonly kind: 'request'; readonly what: 'pop' | 'extend'; readonly error: unknown }
  /** The answer to a pop took longer than its lock lives. */
  | { readonly kind: 'answer-late' }
  /** The handler is still at work although the time is over, or, of many queues, after five minutes. */
  | { readonly kind: 'handler-late'; readonly items: readonly Item[] }

/** The same where many queues are worked. */
export type ManyTrouble =
  | (Trouble & { readonly queue: string })
  /** A queue cannot be worked for now, or the list cannot be read: tried again, less and less often. */
  | { readonly kind: 'queue'; readonly queue: string; readonly error: unknown }
  | { readonly kind: 'look'; readonly error: unknown }
