// The names of events as plain data: the function that makes them, the stack that filters them and the
// tests of their page share them.

export const EVENT_SOURCE = 'pushpop'

/** By the kind of the transition: the `detail-type` that rules name. */
export const detailTypes = {
  'items-available': 'Items Available',
  'lock-expired': 'Lock Expired',
  'item-dead-lettered': 'Item Dead-Lettered',
  'queue-drained': 'Queue Drained',
} as const

export type DetailType = (typeof detailTypes)[keyof typeof detailTypes]
