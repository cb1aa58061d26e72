import { SqsError } from './core/sqs-error.ts'
import { type Input, objects, text } from './input.ts'

/** SQS's own. */
const ENTRIES_MAX = 10

/** Each entry by itself: one that is refused does no harm to the others. */
export function eachEntry(input: Input, act: (entry: Input) => object): Record<string, unknown> {
  const entries = objects(input, 'Entries')
  checkEntries(entries.map((entry) => text(entry, 'Id')))
  const Successful: object[] = []
  const Failed: object[] = []
  for (const entry of entries) {
    const { Id } = entry
    try {
      Successful.push({ Id, ...act(entry) })
    } catch (error) {
      if (!(error instanceof SqsError)) throw error
      Failed.push({ Id, SenderFault: true, Code: error.code, Message: error.message })
    }
  }
  return { Successful, ...(Failed.length > 0 && { Failed }) }
}

function checkEntries(ids: readonly string[]): void {
  if (ids.length === 0) {
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.')
  }
  if (ids.length > ENTRIES_MAX) {
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${ENTRIES_MAX}. You have sent ${ids.length}.`,
    )
  }
  if (new Set(ids).size < ids.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'Two entries of the batch have the same id.')
  }
  if (ids.every((id) => /^[\w-]{1,80}$/.test(id))) return
  throw new SqsError(
    'InvalidBatchEntryId',
    'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
  )
}
