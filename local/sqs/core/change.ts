import type { Duplicate } from './duplicates.ts'
import type { Delivery, Message } from './message.ts'
import type { QueueAttributes } from './queue-attributes.ts'

/** A queue's own data, without its messages. */
export type QueueRecord = {
  readonly name: string
  readonly attributes: QueueAttributes
  readonly createdAtMs: number
  readonly modifiedAtMs: number
  /** The last sequence number that it gave. */
  readonly sequence: string
}

/** A change that must be on disk before we answer the request. */
export type Change =
  | { readonly kind: 'queue'; readonly record: QueueRecord }
  | { readonly kind: 'queue gone'; readonly queue: string }
  | { readonly kind: 'sent'; readonly queue: string; readonly message: Message }
  | { readonly kind: 'delivered'; readonly id: string; readonly delivery: Delivery }
  | { readonly kind: 'gone'; readonly id: string }
  | { readonly kind: 'remembered'; readonly queue: string; readonly duplicate: Duplicate }
  | { readonly kind: 'forgotten'; readonly queue: string; readonly untilMs: number }

export type RecordChange = (change: Change) => void
