import type { SQSRecord } from 'aws-lambda'
import { ITEM_BYTES_MAX } from '../engine/core/limits.ts'
import { checkIdempotencyKey } from '../engine/core/pop-request.ts'
import { checkPush } from '../engine/core/push-request.ts'
import { sequenceOf } from '../engine/core/sequence.ts'
import type { InboxMessage, PushItem } from '../engine/queues.ts'
import { QueueError } from '../foundation/errors.ts'
import { present } from '../foundation/shared/present.ts'
import { shortenedReason } from '../foundation/shared/reason.ts'
import { readBody } from '../http/body-fields.ts'
import { itemOf } from '../http/endpoints/push.ts'
import { RequestError } from '../http/request-error.ts'
import { pushCall } from '../http/schemas/push.ts'
import { validate } from '../http/validate.ts'
import { KEY_ATTRIBUTE } from './message.ts'

/**
 * How long a message waits for room, for its turn under a limit, or for a free priority. After that its items go to
 * the dead letters, with the reason: in SQS they would be gone after 14 days.
 */
export const WAIT_MAX_MS = 86_400_000

/** What the engine applies: the push in a message, or the reason why it is not one. */
export function readMessage(inbox: string, record: SQSRecord, nowMs: number): InboxMessage {
  const { SequenceNumber = '', SentTimestamp } = record.attributes
  const common = {
    sequence: sequenceOf(inbox, SequenceNumber),
    waitsUntilMs: (Number(SentTimestamp) || nowMs) + WAIT_MAX_MS,
  }
  const attribute = record.messageAttributes[KEY_ATTRIBUTE]
  // A binary attribute has no text: that is an invalid key, not a missing one.
  const idempotencyKey = attribute && (attribute.stringValue ?? '')
  try {
    const items = itemsIn(record.body, Number(SentTimestamp) || nowMs)
    checkPush(items)
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
    return { kind: 'push', ...common, ...present({ items, idempotencyKey }) }
  } catch (error) {
    if (!(error instanceof QueueError || error instanceof RequestError)) throw error
    const reason = shortenedReason(`The inbox cannot push this: ${error.message}`)
    return { kind: 'refused', ...common, items: itemsOfText(record.body), reason }
  }
}

/** An item's `expires_in_seconds` counts from when the message was sent, however long it has been in the inbox. */
function itemsIn(text: string, sentAtMs: number): PushItem[] {
  const { schema, or, raw } = pushCall.body
  const fields = readBody(text, raw)
  const items =
    or.field in fields
      ? validate(or.schema, fields, 'field', pushCall).items.map(itemOf)
      : [itemOf(validate(schema, fields, 'field', pushCall))]
  return items.map((item) =>
    item.expiresInSeconds === undefined ? item : { ...item, sinceMs: sentAtMs },
  )
}

/** Escaping makes at most six bytes of a character, so every piece is an item that any queue takes. */
const PIECE_CHARACTERS = Math.floor(ITEM_BYTES_MAX / 6) - 2

/**
 * The whole text as dead letters: unchanged if it is JSON and no larger than an item, or else as a JSON string,
 * in pieces if need be.
 */
export function itemsOfText(text: string): PushItem[] {
  try {
    const items = [{ text }]
    checkPush(items)
    return items
  } catch {
    const pieces: PushItem[] = []
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      pieces.push({ text: JSON.stringify(text.slice(at, at + PIECE_CHARACTERS)) })
    }
    return pieces
  }
}
