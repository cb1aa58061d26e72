// Puts pushes into the inbox. The form of a message is a contract, because anything in AWS may send one
// (docs/inbox.md): the body of a push, in a group that has the name of its queue.
//
// After a lost answer we send again: for five minutes, SQS drops copies with the same deduplication id. So a push says
// "unknown" only if no attempt is left.

import { failureOf } from '../../aws/failures.ts'
import { checkTimesAhead } from '../../engine/core/check-requests.ts'
import { hashOf } from '../../engine/core/keys.ts'
import { planLater } from '../../engine/core/later.ts'
import type { PushRequest } from '../../engine/queues.ts'
import { QueueError } from '../../shared/errors.ts'
import { givenFields } from '../../shared/item-fields.ts'
import {
  type Clock,
  type Random,
  randomText,
  secureRandom,
  systemClock,
} from '../../shared/system.ts'
import { RequestError } from '../http/answer.ts'
import type { Inbox } from '../http/push.ts'

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
function checkTimesOf({ items, idempotencyKey }: PushRequest, nowMs: number): void {
  checkTimesAhead(items, nowMs, { isNew: idempotencyKey === undefined })
  planLater(items, { pushedAtMs: nowMs, tag: '', seals: 0 }, '')
}

/** The message for a checked push; refuses what SQS does not accept. */
function messageOf(queue: string, { items, idempotencyKey }: PushRequest, random: Random): Message {
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

function itemText(item: PushRequest['items'][number]): string {
  let fields = ''
  for (const { name, wire, is, standard } of givenFields) {
    const value = item[name]
    if (value === undefined || value === standard) continue
    const told = is === 'time' ? Number(value) / 1_000 : value
    fields += `,"${wire}":${JSON.stringify(told)}`
  }
  return `{"item":${item.text}${fields}}`
}

/** The one request that sends to SQS. */
export type SendPort = { send(message: Message): Promise<{ readonly messageId: string }> }

type Edge = { readonly clock?: Clock; readonly random?: Random }

/** Answers take 3 s at most, and pauses up to 0.1 and 0.4 s: this fits into the time of a call. */
const ATTEMPTS_MAX = 3
const PAUSE_FIRST_MS = 100
/** SQS drops copies for five minutes: a process that was frozen for longer would push twice. */
const COPIES_UNTIL_MS = 240_000

/** The inbox as a push sees it. It does not touch the table, so it goes on accepting during an outage there. */
export const inboxOn = (
  port: SendPort,
  { clock = systemClock, random = secureRandom }: Edge = {},
): Inbox => ({
  async send(queue, request) {
    checkTimesOf(request, clock.nowMs())
    return sendOnce(port, messageOf(queue, request, random), clock, random)
  },
})

/** Makes one message, however often we send it. */
async function sendOnce(port: SendPort, message: Message, clock: Clock, random: Random) {
  let isOpen = false
  const untilMs = clock.nowMs() + COPIES_UNTIL_MS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await port.send(message)
    } catch (error) {
      const failure = failureOf(error)
      isOpen ||= failure === 'unknown'
      const mayPass = failure === 'unknown' || failure === 'throttled' || failure === 'unsent'
      if (!mayPass && !isOpen) throw error
      if (!mayPass || attempt === ATTEMPTS_MAX) throw notSent(isOpen, error)
      await clock.sleep(PAUSE_FIRST_MS * 4 ** (attempt - 1) * random())
      if (isOpen && clock.nowMs() >= untilMs) throw notSent(isOpen, error)
    }
  }
}

const notSent = (isOpen: boolean, cause: unknown): QueueError =>
  isOpen
    ? new QueueError(
        'STORE_UNAVAILABLE',
        'Cannot tell whether the inbox has this push, because its answer was lost',
        { outcome: 'unknown', cause },
      )
    : new QueueError(
        'STORE_UNAVAILABLE',
        'The inbox is busy or out of reach; nothing was accepted, try again in a moment',
        { cause },
      )
