import type { DynamoDBRecord } from 'aws-lambda'

// A write that sets a queue's timer near also sets the attribute `wk` (`core/timers.ts`). When that appears, the
// stream's filter lets the record through, and Housekeep calls Wake. It does nothing else for such a record.

/** The latest due time among the queues of this batch whose timers have become near. */
export function latestIn(records: readonly DynamoDBRecord[]): number | undefined {
  let latest: number | undefined
  for (const { dynamodb } of records) {
    if (dynamodb?.NewImage?.wk === undefined || dynamodb.OldImage?.wk !== undefined) continue
    const atMs = Number(dynamodb.NewImage.checkAt?.N)
    if (Number.isFinite(atMs)) latest = Math.max(latest ?? atMs, atMs)
  }
  return latest
}

export const saysOnlyNear = ({ dynamodb }: DynamoDBRecord): boolean =>
  dynamodb?.NewImage?.wk !== undefined && dynamodb.NewImage.work === undefined
