import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda'
import { isFormatUnknown } from '../../foundation/errors.ts'
import { describeError, type Log } from '../../runtime/log.ts'
import { type EventEntry, type EventsPort, putEvents } from '../../runtime/put-events.ts'
import { entriesOf } from './event-entry.ts'
import { imagesOf } from './images.ts'

type AnnounceRun = {
  readonly log: Log
  /** Until the platform stops us. */
  remainingMs(): number
  sleep(ms: number): Promise<void>
  random(): number
}

export type AnnounceReport = {
  readonly answer: DynamoDBBatchResponse
  readonly records: number
  readonly events: number
  readonly failed: number
  /** Writes to records of a format that this function does not know. */
  readonly passed: number
}

/**
 * Announces what a batch of the table's stream did to its queues. It remembers nothing: the two images of
 * a write say which events it makes, and give each its id.
 *
 * It looks at every record and tries every event, even after a record that fails. Lambda repeats a batch
 * from its first failure on, and in the end hands the whole batch to the failure queue: by then the
 * records behind the failure have been announced, some of them more than once.
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
