import type { Outcome } from '../functions/messages.ts'
import { isObject } from '../template/assembly.ts'
import type { SqsRecord } from './sqs-record.ts'

/**
 * The ids of the messages that a function did not handle. With ReportBatchItemFailures it names them, and Lambda
 * deletes all the others, of a FIFO queue too: order holds only if the function names what comes after a failure.
 */
export function failedMessages(
  outcome: Outcome,
  records: readonly SqsRecord[],
  reportsItemFailures: boolean,
): ReadonlySet<string> {
  const all = new Set(records.map(({ messageId }) => messageId))
  if (outcome.kind !== 'answered') return all
  return reportsItemFailures ? (named(JSON.parse(outcome.payload), all) ?? all) : new Set()
}

/** `undefined` for an answer that Lambda takes for a failure of the whole batch. */
function named(answer: unknown, all: ReadonlySet<string>): ReadonlySet<string> | undefined {
  // Nothing, or an object without failures, is success, as on AWS.
  if (answer === null || answer === '') return new Set()
  const failures = isObject(answer) ? (answer.batchItemFailures ?? []) : undefined
  if (!Array.isArray(failures)) return undefined
  const ids = failures.map((failure) => (isObject(failure) ? failure.itemIdentifier : undefined))
  const isKnown = (id: unknown): id is string => typeof id === 'string' && all.has(id)
  return ids.every(isKnown) ? new Set(ids) : undefined
}
