import type { DynamoDBRecord } from 'aws-lambda'

// A write that sets a queue's timer near says so by the attribute `wk` (`core/timers.ts`): the filter of the
// stream lets it through when it appears, and Wake is called. There is nothing else to do for such a record.

/** The latest time at which a queue of these comes due whose timer has become near. */
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
