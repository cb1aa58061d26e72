import type { Outcome } from '../functions/messages.ts'
import { isObject } from '../template/assembly.ts'
import type { BatchAnswer } from './deliver-batch.ts'
import { type StreamRecord, sequenceOf } from './stream-record.ts'

/**
 * What a function's answer says about a batch. With ReportBatchItemFailures it names the records
 * that failed; everything from the first of them on counts as failed, because order is kept.
 */
export function batchAnswer(
  outcome: Outcome,
  records: readonly StreamRecord[],
  reportsItemFailures: boolean,
): BatchAnswer {
  switch (outcome.kind) {
    case 'throttled':
      return { kind: 'not asked' }
    case 'failed':
      return { kind: 'failed', from: 0 }
    case 'answered':
      return reportsItemFailures ? readFailures(outcome.payload, records) : { kind: 'done' }
    default:
      return outcome satisfies never
  }
}

function readFailures(payload: string, records: readonly StreamRecord[]): BatchAnswer {
  const answer: unknown = JSON.parse(payload)
  // Nothing, or an object without failures, is success, as on AWS.
  if (answer === null || answer === '') return { kind: 'done' }
  const failures = isObject(answer) ? (answer.batchItemFailures ?? []) : undefined
  if (!Array.isArray(failures)) return { kind: 'failed', from: 0 }
  if (failures.length === 0) return { kind: 'done' }
  const indexes = failures.map((failure) =>
    records.findIndex(
      (record) => isObject(failure) && failure.itemIdentifier === sequenceOf(record),
    ),
  )
  // A record that was not in the batch: AWS then takes the whole batch as failed.
  return { kind: 'failed', from: Math.max(0, Math.min(...indexes)) }
}
