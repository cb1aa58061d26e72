import { type Sequence, sequenceOf } from '../../engine/core/repeated-pushes.ts'
import type { InboxMessage, PushItem } from '../../engine/queues.ts'
import { named } from './traffic.ts'

/** Messages of an inbox as tests apply them. */

export const at = (number: number, inbox = 'inbox-'): Sequence => sequenceOf(inbox, String(number))

type Options = {
  readonly items?: readonly PushItem[]
  readonly idempotencyKey?: string
  readonly waitsUntilMs?: number
  readonly inbox?: string
}

/** Brings one item, `"m<number>"`, unless told otherwise. */
export const message = (
  number: number,
  {
    items = named('m', 1, 0, number),
    idempotencyKey,
    waitsUntilMs = Number.MAX_SAFE_INTEGER,
    inbox,
  }: Options = {},
): InboxMessage => ({
  kind: 'push',
  sequence: at(number, inbox),
  items,
  waitsUntilMs,
  ...(idempotencyKey !== undefined && { idempotencyKey }),
})

export const messages = (from: number, to: number): InboxMessage[] =>
  Array.from({ length: to - from + 1 }, (_, index) => message(from + index))

export const refused = (number: number, reason = 'no push'): InboxMessage => ({
  kind: 'refused',
  sequence: at(number),
  items: [{ text: `"bad${number}"` }],
  waitsUntilMs: 0,
  reason,
})

/** What one-item messages leave in a queue. */
export const textsFrom = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `"m${from + index}"`)
