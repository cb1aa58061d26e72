import { marshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBRecord } from 'aws-lambda'

type Image = Readonly<Record<string, unknown>>

/** A write as Lambda would tell it, from the rows before and after. */
export function streamRecord(
  sequenceNumber: number,
  before: Image | undefined,
  after: Image | undefined,
  atMs: number,
): DynamoDBRecord {
  const { pk, sk } = (after ?? before) as { pk: string; sk: string }
  // Marshalled and through JSON: nothing that only exists in memory passes.
  return JSON.parse(
    JSON.stringify({
      eventID: `event-${sequenceNumber}`,
      eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
      eventSource: 'aws:dynamodb',
      dynamodb: {
        ApproximateCreationDateTime: Math.floor(atMs / 1000),
        Keys: { pk: { S: pk }, sk: { S: sk } },
        SequenceNumber: String(sequenceNumber),
        StreamViewType: 'NEW_AND_OLD_IMAGES',
        ...(before && { OldImage: marshall(before, { removeUndefinedValues: true }) }),
        ...(after && { NewImage: marshall(after, { removeUndefinedValues: true }) }),
      },
    }),
  )
}
