// Keeps house in the queues that a batch of the table's stream names. A record of the stream says only that there may
// be something to do: we read the queue's record as it is now, so it does no harm if a batch comes twice, or late.

import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { queueOfRecordKey, recordPrefix } from '../../engine/core/keys.ts'
import type { HousekeepReport, Queues } from '../../engine/queues.ts'
import { isQueueId } from '../../shared/bounds.ts'
import { isFormatUnknown } from '../../shared/errors.ts'
import { describeError, type Run } from '../runtime/log.ts'
import type { Waker } from './call-wake.ts'

/** Queues at a time. They share nothing, and each mostly waits for its store. */
const QUEUES_AT_ONCE = 4
/** A queue takes a few dozen requests. With less time than this we leave the rest to the next batch. */
const LEAVE_MS = 15_000

type BatchReport = {
  readonly answer: DynamoDBBatchResponse
  readonly fields: Readonly<Record<string, number>>
  readonly failed: boolean
}

/**
 * Keeps house in every queue that the batch names, once in each.
 *
 * What we report as failed: Lambda repeats a batch from the first reported record on, with the records of
 * other queues behind it. That is harmless (a queue with nothing to do costs one read), so we name only
 * the first record of each failing queue. A run that read the record and could not finish is not a failure:
 * it has left a timer, and the sweeper comes back to it. Repeating it would hold up the shard, and every
 * queue in it, for one queue in trouble. A queue has failed if its record could not be read, so that it
 * has no timer, or if there was no time for it. We skip a record of a newer format
 * anyway: no repetition helps, and housekeeping that can read it comes with its next write, or with the
 * sweeper.
 */
export async function housekeepBatch(
  queues: Pick<Queues, 'housekeep'>,
  event: DynamoDBStreamEvent,
  { tally, log, remainingMs }: Run,
  wake?: Waker,
): Promise<BatchReport> {
  const records = event.Records ?? []
  const untilMs = latestIn(records)
  const waking = untilMs === undefined ? undefined : wake?.({ untilMs }, log)
  const first = firstRecords(records.filter((record) => !saysOnlyNear(record)))
  const sums = { sealed: 0, offloaded: 0, recalled: 0, trimmed: 0, deadLettered: 0 }
  const failed = new Set<string>()
  let unfinished = 0
  let passed = 0

  const visit = async (queue: string): Promise<void> => {
    if (remainingMs() < LEAVE_MS) {
      failed.add(queue)
      return
    }
    try {
      const report = await queues.housekeep(queue, { leaveStuck: true })
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += report[name]
      if (!report.finished) unfinished += 1
    } catch (error) {
      if (isFormatUnknown(error)) passed += 1
      else failed.add(queue)
      log.write('error', 'housekeeping failed', { queue, error: describeError(error) })
    }
  }
  const waiting = [...first.keys()]
  const workers = Array.from({ length: QUEUES_AT_ONCE }, async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      await visit(queue)
    }
  })
  await Promise.all([...workers, waking])

  tally.count('SegmentsOffloaded', sums.offloaded)
  tally.count('SegmentsRecalled', sums.recalled)
  tally.count('ItemsDeadLettered', sums.deadLettered)
  tally.count('HousekeepingFailures', failed.size + unfinished)
  tally.count('FormatsUnknown', passed)
  return {
    answer: { batchItemFailures: failuresOf(first, failed) },
    fields: {
      records: records.length,
      queues: first.size,
      ...fieldsOf(sums),
      unfinished,
      failed: failed.size,
      passed,
    },
    failed: failed.size + unfinished + passed > 0,
  }
}

const fieldsOf = (sums: Omit<HousekeepReport, 'finished'>) => ({
  sealed: sums.sealed,
  offloaded: sums.offloaded,
  recalled: sums.recalled,
  trimmed: sums.trimmed,
  dead_lettered: sums.deadLettered,
})

/**
 * The latest due time among the queues of this batch whose timers have become near. A write that sets a timer near also
 * sets the attribute `wk` (`engine/core/record.ts`). When that appears, the stream's filter lets the record through, and
 * Housekeep calls Wake. It does nothing else for such a record.
 */
function latestIn(records: readonly DynamoDBRecord[]): number | undefined {
  let latest: number | undefined
  for (const { dynamodb } of records) {
    if (dynamodb?.NewImage?.wk === undefined || dynamodb.OldImage?.wk !== undefined) continue
    const atMs = Number(dynamodb.NewImage.checkAt?.N)
    if (Number.isFinite(atMs)) latest = Math.max(latest ?? atMs, atMs)
  }
  return latest
}

const saysOnlyNear = ({ dynamodb }: DynamoDBRecord): boolean =>
  dynamodb?.NewImage?.wk !== undefined && dynamodb.NewImage.work === undefined

/** The first record of each queue, in the order of the batch, which is the order of the stream. */
function firstRecords(records: readonly DynamoDBRecord[]): Map<string, string | undefined> {
  const first = new Map<string, string | undefined>()
  for (const { dynamodb } of records) {
    const pk = dynamodb?.Keys?.pk?.S
    // Segments, batches and receipts are rows of the table as well.
    if (pk === undefined || !pk.startsWith(recordPrefix(''))) continue
    const queue = queueOfRecordKey(pk)
    if (isQueueId(queue) && !first.has(queue)) first.set(queue, dynamodb?.SequenceNumber)
  }
  return first
}

function failuresOf(
  first: ReadonlyMap<string, string | undefined>,
  failed: ReadonlySet<string>,
): DynamoDBBatchResponse['batchItemFailures'] {
  const failures: { itemIdentifier: string }[] = []
  for (const [queue, itemIdentifier] of first) {
    if (!failed.has(queue)) continue
    // Lambda cannot begin again at a record without a number: an empty identifier fails the batch.
    failures.push({ itemIdentifier: itemIdentifier ?? '' })
  }
  return failures
}
