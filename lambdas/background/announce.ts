// Announces what happened to queues: from the two images of each write in the table's stream to events on the bus. It
// remembers nothing: the images say which events a write makes, and give each its id, so a repetition announces the
// same. A record that cannot be read, or an event that was not put, makes Lambda repeat the batch from there on.

import { createHash } from 'node:crypto'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { fromAttributes } from '../../aws/attribute-values.ts'
import { queueOfRecordKey, recordKey } from '../../engine/core/keys.ts'
import { countOf } from '../../engine/core/ranges.ts'
import { isDone, itemsIn, lanesInOrder, type QueueRecord } from '../../engine/core/record.ts'
import { isRetry } from '../../engine/core/settling.ts'
import { decodeRecord, type StoredRecord } from '../../engine/core/stored-record.ts'
import { type Transition, transitionsOf, visibleIn } from '../../engine/core/views.ts'
import { deadLetterQueueOf, isQueueId } from '../../shared/bounds.ts'
import { isFormatUnknown } from '../../shared/errors.ts'
import type { LogLevel } from '../../shared/log-levels.ts'
import {
  describeError,
  type Fields,
  type InvocationContext,
  type Log,
  remainingMsOf,
  stopwatch,
  Tally,
} from '../runtime/log.ts'
import { detailTypes, EVENT_SOURCE } from '../runtime/names.ts'
import { type EventEntry, type EventsPort, putEvents } from '../runtime/put-events.ts'

/**
 * Writes one log line a batch, even if it fails. The metrics for it are the stream's and Lambda's own, and
 * one for records that it cannot read.
 */
export function announceHandler(
  port: EventsPort,
  bus: string,
  log: Log,
): (event: DynamoDBStreamEvent, context?: InvocationContext) => Promise<DynamoDBBatchResponse> {
  return async (event, context = {}) => {
    const durationMs = stopwatch()
    const tally = new Tally()
    const finish = (level: LogLevel, fields: Fields): void => {
      const used = {
        request_id: context.awsRequestId,
        function: 'Announce',
        duration_ms: durationMs(),
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    try {
      const { answer, ...done } = await announceBatch(port, bus, event, {
        log,
        remainingMs: remainingMsOf(context),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        random: Math.random,
      })
      tally.count('FormatsUnknown', done.passed)
      finish(done.failed + done.passed > 0 ? 'warn' : 'info', done)
      return answer
    } catch (error) {
      finish('error', { error: describeError(error) })
      throw error
    }
  }
}

type AnnounceRun = {
  readonly log: Log
  /** Until the platform stops us. */
  remainingMs(): number
  sleep(ms: number): Promise<void>
  random(): number
}

type AnnounceReport = {
  readonly answer: DynamoDBBatchResponse
  readonly records: number
  readonly events: number
  readonly failed: number
  /** Writes to records of a format that this function does not know. */
  readonly passed: number
}

/**
 * Announces what a batch of the table's stream did to its queues. It looks at every record and tries every event,
 * even after a record that fails. Lambda repeats a batch from its first failure on, and in the end hands the whole
 * batch to the failure queue: by then the records behind the failure have been announced, some of them more than
 * once.
 *
 * We skip a record of a newer format: no repetition helps, and a failure would hold up all other queues of its
 * shard until the stream forgets them. A sweeper that can read the record announces its items again.
 */
export async function announceBatch(
  port: EventsPort,
  bus: string,
  event: DynamoDBStreamEvent,
  { log, remainingMs, sleep, random }: AnnounceRun,
): Promise<AnnounceReport> {
  const records = event.Records ?? []
  const failed = new Set<number>()
  let passed = 0
  const entries: EventEntry[] = []
  /** The record from which each entry comes. */
  const recordOf: number[] = []
  for (const [at, record] of records.entries()) {
    try {
      const images = imagesOf(record)
      if (images.kind === 'none') continue
      for (const entry of entriesOf(bus, images)) {
        entries.push(entry)
        recordOf.push(at)
      }
    } catch (error) {
      if (isFormatUnknown(error)) passed += 1
      else failed.add(at)
      log.write('error', 'write not understood', {
        sequence_number: record.dynamodb?.SequenceNumber,
        error: describeError(error),
      })
    }
  }
  const unsent = await putEvents(entries, {
    port,
    sleep,
    random,
    remainingMs,
    onGivenUp: (count, error) => {
      const problem = typeof error === 'string' ? { error_code: error } : describeError(error)
      log.write('error', 'events not put', { events: count, error: problem })
    },
  })
  for (const index of unsent) failed.add(recordOf[index] as number)
  return {
    answer: {
      batchItemFailures: [...failed]
        .sort((a, b) => a - b)
        // Lambda cannot begin again at a record without a number: an empty identifier fails the batch.
        .map((at) => ({ itemIdentifier: records[at]?.dynamodb?.SequenceNumber ?? '' })),
    },
    records: records.length,
    events: entries.length - unsent.size,
    failed: failed.size,
    passed,
  }
}

/** A write to a queue's record, as the stream shows it. */
type Images =
  /** A row of another kind, or a deleted record: no event. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'write'
      /** The same on every repetition. */
      readonly writeId: string
      readonly atMs: number
      readonly before: QueueRecord | undefined
      readonly after: QueueRecord
    }

/** Throws if it cannot tell what was written: going on would lose an event in silence. */
function imagesOf({ eventID, eventName, dynamodb }: DynamoDBRecord): Images {
  const pk = dynamodb?.Keys?.pk?.S
  const sk = dynamodb?.Keys?.sk?.S
  if (dynamodb === undefined || pk === undefined || sk === undefined) {
    throw new Error('Cannot announce a write because the stream does not say to which row')
  }
  const queue = queueOfRecordKey(pk)
  const key = recordKey(queue)
  // Segments, batches and receipts are rows of the table as well.
  if (key.pk !== pk || key.sk !== sk || !isQueueId(queue)) return { kind: 'none' }
  if (eventName === 'REMOVE') return { kind: 'none' }
  const { NewImage, OldImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb
  const writeId = eventID ?? SequenceNumber
  const isComplete = eventName === 'INSERT' || OldImage !== undefined
  if (NewImage === undefined || !isComplete || writeId === undefined) {
    throw new Error(
      `Cannot announce a write to ${queue} because the stream does not give both images of it`,
    )
  }
  return {
    kind: 'write',
    writeId,
    // In seconds. Without it the time of the announcement will do: nothing is derived from it.
    atMs: (ApproximateCreationDateTime ?? Date.now() / 1000) * 1000,
    before: eventName === 'INSERT' ? undefined : decode(queue, OldImage),
    after: decode(queue, NewImage),
  }
}

function decode(queue: string, image: object | undefined): QueueRecord {
  const stored: unknown = fromAttributes(image as object)
  // Check this first: a record of another format may have any form.
  if (isMap(stored) && stored.fm !== undefined) return decodeRecord(stored as StoredRecord)
  if (isStoredRecord(stored)) return decodeRecord(stored)
  throw new Error(`Cannot announce a write to ${queue} because its record is of an unknown form`)
}

/** Checks enough to tell a record of another version, or half of one, from an empty queue. */
function isStoredRecord(stored: unknown): stored is StoredRecord {
  if (!isMap(stored) || !isMap(stored.L) || !isMap(stored.K) || !isMap(stored.F)) return false
  const { v, g, F: starts } = stored
  return (
    [v, g].every(Number.isInteger) &&
    Object.values(stored.L).every(isLane) &&
    Object.entries(stored.K).every(([id, lock]) => isLock(lock, starts[id]))
  )
}

const isLane = (lane: unknown): boolean =>
  isMap(lane) && [lane.h, lane.s].every(Number.isInteger) && Array.isArray(lane.t)

const isLock = (lock: unknown, start: unknown): boolean =>
  isMap(lock) &&
  Number.isInteger(lock.x) &&
  (Array.isArray(lock.r) || [lock.p, lock.n, start].every(Number.isInteger))

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A queue may have a thousand, but people read events, and AWS bills each 64 KB of one. */
const PRIORITIES_MAX = 20

/** The events of one write: what it did, and how it left the queue. Never an item, never a lock's id. */
function entriesOf(
  bus: string,
  { writeId, atMs, before, after }: Extract<Images, { kind: 'write' }>,
): EventEntry[] {
  const transitions = transitionsOf(before, after)
  if (transitions.length === 0) return []
  const state = stateOf(after)
  return transitions.map((transition, index) => ({
    EventBusName: bus,
    Source: EVENT_SOURCE,
    DetailType: detailTypes[transition.kind],
    Time: new Date(atMs),
    Detail: JSON.stringify({
      id: eventId(writeId, transition.kind, index),
      queue: after.queue,
      version: after.version,
      at: new Date(atMs).toISOString(),
      ...state,
      ...ownDetail(after.queue, transition),
    }),
  }))
}

function ownDetail(queue: string, transition: Transition): object {
  switch (transition.kind) {
    case 'items-available':
    case 'queue-drained':
      return {}
    case 'lock-expired': {
      const counts = [...transition.priorities].sort(([a], [b]) => a - b)
      const first = counts.slice(0, PRIORITIES_MAX).map(([p, count]) => [p, { count }] as const)
      return { items: transition.items, lock_priorities: Object.fromEntries(first) }
    }
    case 'item-dead-lettered':
      return {
        priority: transition.priority,
        items: transition.items,
        reason: transition.reason,
        dead_letter_queue: deadLetterQueueOf(queue),
      }
    default:
      return transition satisfies never
  }
}

/** Counts as the API does: locked items are in the queue, dead ones are not. */
function stateOf(record: QueueRecord) {
  const locked = lockedByPriority(record)
  const counts = lanesInOrder(record)
    .map(([p, lane]) => [p, countOf(visibleIn(record, lane))] as const)
    .filter(([, count]) => count > 0)
  const priorities = counts
    .slice(0, PRIORITIES_MAX)
    .map(([p, count]) => [p, { count, locked: locked.get(p) ?? 0 }])
  return {
    count: counts.reduce((sum, [, count]) => sum + count, 0),
    locked: [...locked.values()].reduce((sum, items) => sum + items, 0),
    priorities: Object.fromEntries(priorities),
    ...(counts.length > PRIORITIES_MAX && { more_priorities: true }),
  }
}

/** Items in locks that have not ended, even if their time is over: there is no clock here. */
function lockedByPriority(record: QueueRecord): ReadonlyMap<number, number> {
  const locked = new Map<number, number>()
  for (const lock of record.locks.values()) {
    if (isDone(lock) || isRetry(lock)) continue
    for (const stretch of lock.stretches) {
      locked.set(stretch.priority, (locked.get(stretch.priority) ?? 0) + itemsIn([stretch]))
    }
  }
  return locked
}

/** Made from the write and the event's place in it: a repetition gets the same id, and no other event does. */
const eventId = (writeId: string, kind: Transition['kind'], index: number): string =>
  createHash('sha256').update(`${writeId} ${kind} ${index}`).digest('hex').slice(0, 32)
