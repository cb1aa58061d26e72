import { fromAttributes } from './lean/attribute-values.ts'
import type { Row } from './table.ts'

// Why DynamoDB cancelled a transaction.

/** Reasons for which a transaction is cancelled that say nothing against the request itself. */
const passing = new Set([
  'None',
  'ConditionalCheckFailed',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
])

/** Another transaction, or a write, and not a want of units. */
export const isConflict = (error: unknown): boolean => {
  const { CancellationReasons = [] } = error as { CancellationReasons?: { Code?: string }[] }
  const codes = CancellationReasons.map(({ Code = 'None' }) => Code)
  return codes.every((code) => code === 'None' || code === 'TransactionConflict')
}

/** What became of one of its entries. */
export type Cancellation = { readonly failed: boolean; readonly row: Row | undefined }

export function cancellationReasons(error: unknown): Cancellation[] {
  const { CancellationReasons = [] } = error as {
    CancellationReasons?: { Code?: string; Item?: object }[]
  }
  const wrong = CancellationReasons.find(({ Code }) => !passing.has(Code ?? 'None'))
  // A request that is wrong (too large, say) will not get better by repeating it.
  if (wrong !== undefined) throw error
  return CancellationReasons.map(({ Code, Item }) => ({
    failed: Code === 'ConditionalCheckFailed',
    row: Item && fromAttributes(Item),
  }))
}
