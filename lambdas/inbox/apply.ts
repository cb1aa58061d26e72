// Applies messages of the inbox to their queues, in the order of each queue. SQS may deliver a message twice, or
// again after an answer was lost: the queue's record tells which messages have been applied.
//
//   delivered ──▶ applied, or found applied already
//       ├──no room, limit reached, store away──▶ delayed, with all behind it ──▶ delivered
//       └──waited a day, or cannot be pushed──▶ dead letters, or, if there is no such queue, the inbox's own

import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { checkIdempotencyKey, checkPush } from '../../engine/core/check-requests.ts'
import { hashOf } from '../../engine/core/keys.ts'
import { ITEM_BYTES_MAX } from '../../engine/core/limits.ts'
import { sequenceOf } from '../../engine/core/repeated-pushes.ts'
import type { Applied, InboxMessage, PushItem, Queues } from '../../engine/queues.ts'
import { isQueueId } from '../../shared/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import { present, shortenedReason } from '../../shared/wire.ts'
import { RequestError } from '../http/answer.ts'
import { itemOf, pushCall } from '../http/push.ts'
import { readBody } from '../http/read-request.ts'
import { validate } from '../http/validate.ts'
import { describeError, type Run } from '../runtime/log.ts'
import { KEY_ATTRIBUTE } from './send.ts'
import type { ApplyPort } from './sqs.ts'

/** From then on we send nothing more to the table: its last answer and a request to SQS take 3 s each at most. */
const LEAVE_MS = 8_000

/**
 * We try a group that has to wait again after 2 s, then after twice as long each time, up to 18 minutes. SQS delivers
 * a message a thousand times at most: that takes twelve days, most of the 14 for which SQS keeps a message.
 */
export const GROUP_DELAY_SECONDS_MAX = 1_080

type BatchReport = {
  readonly answer: SQSBatchResponse
  readonly fields: Readonly<Record<string, number>>
  readonly failed: boolean
}

/** The messages of one group, in order. SQS delivers no more of the group until we are done with these. */
type Group = { readonly id: string; readonly records: readonly SQSRecord[] }

/** The outcome of one group: its first `settled` messages are done. */
type Outcome = Pick<Applied, 'settled'> & { readonly error?: unknown }

type Counts = Record<'pushed' | 'scheduled' | 'applied' | 'repeated' | 'refused' | 'dead', number>

/**
 * Applies the messages of a batch: those of each group in order, in as few appends as possible; groups do not wait for
 * each other. If a message fails, we report it with everything behind it in its group. SQS delivers these messages
 * again, and the record tells which of them have been applied by then.
 */
export async function applyBatch(
  queues: Pick<Queues, 'apply'>,
  port: ApplyPort,
  event: SQSEvent,
  { tally, log, remainingMs }: Run,
  nowMs: () => number = Date.now,
): Promise<BatchReport> {
  const records = event.Records ?? []
  const groups = groupsOf(records)
  const counts: Counts = { pushed: 0, scheduled: 0, applied: 0, repeated: 0, refused: 0, dead: 0 }
  const deadlineMs = nowMs() + Math.max(0, remainingMs() - LEAVE_MS)
  const failed: SQSRecord[] = []

  const visit = async (group: Group): Promise<void> => {
    const { settled, error } = await (isQueueId(group.id)
      ? apply(queues, port, group, { nowMs: nowMs(), deadlineMs }, counts)
      : giveUpAll(port, group, counts)
    ).catch((error: unknown): Outcome => ({ settled: 0, error }))
    const left = group.records.slice(settled)
    if (left.length === 0) return
    failed.push(...left)
    tally.most('InboxWaiting', secondsInInbox(left[0] as SQSRecord, nowMs()))
    const seconds = secondsUntilNext(left[0] as SQSRecord, error)
    const fields = { queue: group.id, messages: left.length, seconds, error: describeError(error) }
    log.write(mayPass(error) ? 'warn' : 'error', 'messages have to wait', fields)
    const delayed = left.map(({ receiptHandle }) => ({ receiptHandle, seconds }))
    // If this fails, they come back by themselves after the visibility timeout.
    await port.delay(delayed).catch((error: unknown) => {
      log.write('warn', 'messages not delayed', { queue: group.id, error: describeError(error) })
    })
  }
  await Promise.all(groups.map(visit))

  tally.count('ItemsPushed', counts.pushed)
  tally.count('ItemsScheduled', counts.scheduled)
  tally.count('InboxApplied', counts.pushed)
  tally.count('InboxRefused', counts.refused)
  tally.count('ItemsDeadLettered', counts.dead)
  const { applied, repeated, refused } = counts
  return {
    answer: { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) },
    fields: {
      messages: records.length,
      queues: groups.length,
      applied,
      repeated,
      refused,
      failed: failed.length,
    },
    failed: failed.length > 0,
  }
}

function groupsOf(records: readonly SQSRecord[]): Group[] {
  const groups = new Map<string, SQSRecord[]>()
  for (const record of records) {
    const id = record.attributes.MessageGroupId ?? ''
    const group = groups.get(id)
    if (group === undefined) groups.set(id, [record])
    else group.push(record)
  }
  return [...groups].map(([id, records]) => ({ id, records }))
}

async function apply(
  queues: Pick<Queues, 'apply'>,
  port: ApplyPort,
  { id, records }: Group,
  { nowMs, deadlineMs }: { readonly nowMs: number; readonly deadlineMs: number },
  counts: Counts,
): Promise<Outcome> {
  const messages = records.map((record) =>
    readMessage(hashOf(record.eventSourceARN), record, nowMs),
  )
  const applied = await queues.apply(id, messages, {
    deadlineMs,
    giveUp: (message, reason) =>
      giveUp(port, id, records[messages.indexOf(message)] as SQSRecord, reason),
  })
  counts.pushed += applied.itemsPushed
  counts.scheduled += applied.itemsScheduled
  counts.applied += applied.pushed
  counts.repeated += applied.repeated
  counts.refused += applied.refused
  counts.dead += applied.itemsDeadLettered
  return applied
}

/** For a group whose name is not a queue id: keeps its messages for a person, one by one, in order. */
async function giveUpAll(
  port: ApplyPort,
  { id, records }: Group,
  counts: Counts,
): Promise<Outcome> {
  let settled = 0
  for (const record of records) {
    try {
      await giveUp(port, id, record, 'The group of this message is not the id of a queue')
    } catch (error) {
      return { settled, error }
    }
    settled += 1
    counts.refused += 1
  }
  return { settled }
}

function giveUp(
  port: ApplyPort,
  queue: string,
  { messageId, body, messageAttributes }: SQSRecord,
  reason: string,
): Promise<void> {
  const idempotencyKey = messageAttributes[KEY_ATTRIBUTE]?.stringValue
  return port.giveUp({ queue, body, deduplicationId: messageId, idempotencyKey }, reason)
}

/** Errors that nobody needs to look at, as long as they do not last. */
const mayPass = (error: unknown): boolean => error instanceof QueueError && error.retryable

const secondsInInbox = ({ attributes }: SQSRecord, nowMs: number): number =>
  Math.round((nowMs - (Number(attributes.SentTimestamp) || nowMs)) / 1_000)

function secondsUntilNext({ attributes }: SQSRecord, error: unknown): number {
  const received = Number(attributes.ApproximateReceiveCount) || 1
  const askedMs = error instanceof QueueError ? (error.retryAfterMs ?? 0) : 0
  const seconds = Math.max(Math.ceil(askedMs / 1_000), 2 ** Math.min(received, 11))
  return Math.min(seconds, GROUP_DELAY_SECONDS_MAX)
}

/**
 * How long a message waits for room, for its turn under a limit, or for a free priority. After that its items go to
 * the dead letters, with the reason: in SQS they would be gone after 14 days.
 */
const WAIT_MAX_MS = 86_400_000

/** What the engine applies: the push in a message, or the reason why it is not one. */
function readMessage(inbox: string, record: SQSRecord, nowMs: number): InboxMessage {
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
function itemsOfText(text: string): PushItem[] {
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
