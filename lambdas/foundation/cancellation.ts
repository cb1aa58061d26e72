import { fromAttributes } from './lean/attribute-values.ts'
import type { Row } from './table.ts'

// Why DynamoDB cancelled a transaction.

/** Reasons for a cancelled transaction that are no fault of the request. */
const passing = new Set([
  'None',
  'ConditionalCheckFailed',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
])

/** Whether another transaction or a write was in the way, rather than a lack of capacity units. */
export const isConflict = (error: unknown): boolean => {
  const { CancellationReasons = [] } = error as { CancellationReasons?: { Code?: string }[] }
  const codes = CancellationReasons.map(({ Code = 'None' }) => Code)
  return codes.every((code) => code === 'None' || code === 'TransactionConflict')
}

/** What happened to one of its entries. */
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
