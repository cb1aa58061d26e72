import type { DynamoDBRecord } from 'aws-lambda'
import { queueOfRecordKey, recordKey } from '../../engine/core/keys.ts'
import type { QueueRecord } from '../../engine/core/record.ts'
import { decodeRecord, type StoredRecord } from '../../engine/core/stored-record.ts'
import { fromAttributes } from '../../foundation/lean/attribute-values.ts'
import { isQueueId } from '../../foundation/queue-id.ts'

/** A write to a queue's record, as the stream shows it. */
export type Images =
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
export function imagesOf({ eventID, eventName, dynamodb }: DynamoDBRecord): Images {
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
  if (isMap(stored) && stored.fn !== undefined) return decodeRecord(stored as StoredRecord)
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
