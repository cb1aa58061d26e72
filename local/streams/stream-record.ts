import { isDeepStrictEqual } from 'node:util'
import { REGION } from '../template/identities.ts'

/** A record as GetRecords gives it. */
export type StreamRecord = {
  readonly eventID: string
  readonly dynamodb: {
    readonly SequenceNumber: string
    /** Seconds. */
    readonly ApproximateCreationDateTime?: number | undefined
    readonly OldImage?: object | undefined
    readonly NewImage?: object | undefined
  }
}

/**
 * DynamoDB makes no record of a write that changes nothing; dynoxide does. A stream without both images does not show
 * whether anything changed.
 */
export const changesSomething = ({ dynamodb: { OldImage, NewImage } }: StreamRecord): boolean =>
  OldImage === undefined || NewImage === undefined || !isDeepStrictEqual(OldImage, NewImage)

/** A record as Lambda hands it to a function. */
export const lambdaRecord = (record: StreamRecord, streamArn: string): StreamRecord => ({
  ...record,
  ...{ eventSourceARN: streamArn, awsRegion: REGION },
})

export const sequenceOf = (record: StreamRecord): string => record.dynamodb.SequenceNumber

export const createdAtMs = ({ dynamodb }: StreamRecord): number =>
  (dynamodb.ApproximateCreationDateTime ?? 0) * 1000
