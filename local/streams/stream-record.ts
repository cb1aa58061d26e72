import { REGION } from '../template/identities.ts'

/** A record as GetRecords gives it; nothing here reads its images. */
export type StreamRecord = {
  readonly eventID: string
  readonly dynamodb: {
    readonly SequenceNumber: string
    /** Seconds. */
    readonly ApproximateCreationDateTime?: number | undefined
  }
}

/** A record as Lambda hands it to a function. */
export const lambdaRecord = (record: StreamRecord, streamArn: string): StreamRecord => ({
  ...record,
  ...{ eventSourceARN: streamArn, awsRegion: REGION },
})

export const sequenceOf = (record: StreamRecord): string => record.dynamodb.SequenceNumber

export const createdAtMs = ({ dynamodb }: StreamRecord): number =>
  (dynamodb.ApproximateCreationDateTime ?? 0) * 1000
