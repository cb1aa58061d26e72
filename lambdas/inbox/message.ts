// The form of an inbox message: the body of a push, in a group that has the name of its queue. Anything in AWS may
// send one (docs/inbox.md), so this is a contract.

import { hashOf } from '../engine/core/hash.ts'
import { planLater } from '../engine/core/later.ts'
import { checkTimesAhead } from '../engine/core/push-request.ts'
import type { PushRequest } from '../engine/queues.ts'
import { QueueError } from '../foundation/errors.ts'
import { randomText } from '../foundation/random-text.ts'
import type { Random } from '../foundation/system.ts'
import { RequestError } from '../http/request-error.ts'

/** The attribute that holds a message's idempotency key, if it has one. */
export const KEY_ATTRIBUTE = 'idempotency-key'

/** SQS’s own limit: 1 MiB, with the attributes. */
export const MESSAGE_BYTES_MAX = 1024 * 1024
/** The attribute's name, type and longest value; we count it always, so that a key does not change the limit. */
const ATTRIBUTE_BYTES = 256

/** The bytes that SQS counts for an attribute. */
export const attributeBytes = (name: string, value: string): number =>
  Buffer.byteLength(name) + 'String'.length + Buffer.byteLength(value)

/** A push on its way into the inbox. */
export type Message = {
  readonly queue: string
  readonly body: string
  readonly deduplicationId: string
  readonly idempotencyKey?: string | undefined
}

/** Refuses a push whose times are not valid now. A push with a key may be a repetition. */
export function checkTimesOf({ items, idempotencyKey }: PushRequest, nowMs: number): void {
  checkTimesAhead(items, nowMs, { isNew: idempotencyKey === undefined })
  planLater(items, { pushedAtMs: nowMs, tag: '', seals: 0 }, '')
}

/** The message for a checked push; refuses what SQS does not accept. */
export function messageOf(
  queue: string,
  { items, idempotencyKey }: PushRequest,
  random: Random,
): Message {
  const body = `{"items":[${items.map(itemText).join(',')}]}`
  const limitBytes = MESSAGE_BYTES_MAX - ATTRIBUTE_BYTES
  const bytes = Buffer.byteLength(body)
  if (bytes > limitBytes) {
    throw new RequestError(
      'BODY_TOO_LARGE',
      `Cannot put ${bytes} bytes into the inbox because it takes ${limitBytes} at once; push them in parts, or without "Prefer: respond-async"`,
      { limitBytes },
    )
  }
  const refused = items.findIndex(({ text }) => /[\ufffe\uffff]/.test(text))
  if (refused !== -1) {
    throw new QueueError(
      'INVALID_ITEM',
      'The inbox does not take the characters U+FFFE and U+FFFF; escape them, or push without "Prefer: respond-async"',
      { field: items.length === 1 ? 'item' : `items[${refused}]` },
    )
  }
  // Made from key and items: another push with the same key must arrive, so that the engine can refuse it.
  const deduplicationId =
    idempotencyKey === undefined ? randomText(random, 22) : hashOf(idempotencyKey, body)
  return { queue, body, deduplicationId, idempotencyKey }
}

function itemText({ text, priority = 0, ...times }: PushRequest['items'][number]): string {
  const secondsOf = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000)
  const rest = {
    priority: priority === 0 ? undefined : priority,
    expires_in_seconds: times.expiresInSeconds,
    expires_at: secondsOf(times.expiresAtMs),
    delay_seconds: times.delaySeconds,
    deliver_at: secondsOf(times.deliverAtMs),
  }
  const fields = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `,"${name}":${value}`)
  return `{"item":${text}${fields.join('')}}`
}
