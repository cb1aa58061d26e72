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
  /** The handler is still at work although the time is over, or, with many queues, after five minutes. */
  | { readonly kind: 'handler-late'; readonly items: readonly Item[] }

/** The same for work on many queues. */
export type ManyTrouble =
  | (Trouble & { readonly queue: string })
  /** We cannot work a queue, or read the list, for now; we try again, less and less often. */
  | { readonly kind: 'queue'; readonly queue: string; readonly error: unknown }
  | { readonly kind: 'look'; readonly error: unknown }
