// AWS bills a write that its condition refuses like one that went through, by the existing item or the item that it
// would have made, whichever is larger; but the exception carries no capacity. So the metered client asks for ALL_OLD
// on failure (free of charge) and counts itself. We do not know what an update would have made, so we count the old
// item and every value sent, which is never too little.

import { unmarshall } from '@aws-sdk/util-dynamodb'
import { writeUnits } from '../../testing/simulated/dynamodb/capacity.ts'
import { itemSize } from '../../testing/simulated/dynamodb/item-size.ts'
import { ingestItem } from '../../testing/simulated/dynamodb/value.ts'
import type { Input } from './commands.ts'

type OldRow = Parameters<typeof unmarshall>[0]

type WriteError = Error & {
  Item?: OldRow
  CancellationReasons?: { Code?: string; Item?: OldRow }[]
}

export const isRefused = (error: unknown): error is WriteError =>
  error instanceof Error && error.name === 'ConditionalCheckFailedException'

export const isCancelled = (error: unknown): error is WriteError =>
  error instanceof Error && error.name === 'TransactionCanceledException'

const throttles = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
])
export const isThrottled = (error: unknown): boolean =>
  error instanceof Error && throttles.has(error.name)

/** The command's input, asking for what counting needs. */
export function askForOldRow(input: Input): Input {
  if (input.TransactItems === undefined) {
    return { ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  }
  const entries = input.TransactItems.map((entry) =>
    Object.fromEntries(Object.entries(entry).map(([verb, it]) => [verb, askForOldRow(it)])),
  )
  return { ...input, TransactItems: entries }
}

export const refusedWriteUnits = (input: Input, error: WriteError): number =>
  writeUnits(sizeTouched(input, error.Item), 0)

/**
 * A transaction is billed double because it prepares and commits; one that is cancelled in its
 * first half is counted once, which favours algorithms that use them (here: the sources').
 */
export function cancelledWriteUnits(input: Input, error: WriteError): number {
  let units = 0
  for (const [i, entry] of (input.TransactItems ?? []).entries()) {
    const reason = error.CancellationReasons?.[i]
    units += writeUnits(sizeTouched(Object.values(entry)[0] ?? {}, reason?.Item), 0)
  }
  return units
}

export const itemBytes = (item: object): number => itemSize(ingestItem(item))

function sizeTouched(input: Input, oldRow: OldRow | undefined): number {
  const oldBytes = oldRow === undefined ? 0 : itemBytes(unmarshall(oldRow))
  if (input.Item !== undefined) return Math.max(oldBytes, itemBytes(input.Item))
  return oldBytes + itemBytes(input.ExpressionAttributeValues ?? {})
}

/** Leaves the exception as the caller would have got it. */
export function hideOldRow(input: Input, error: WriteError): void {
  if (input.ReturnValuesOnConditionCheckFailure !== 'ALL_OLD') delete error.Item
  for (const [i, entry] of (input.TransactItems ?? []).entries()) {
    const asked = Object.values(entry)[0]?.ReturnValuesOnConditionCheckFailure === 'ALL_OLD'
    if (!asked) delete error.CancellationReasons?.[i]?.Item
  }
}
