import { isObject } from '../template/assembly.ts'
import { REGION } from '../template/identities.ts'

type Image = Readonly<Record<string, unknown>>

/** A record as GetRecords gives it. */
export type StreamRecord = {
  readonly eventID: string
  readonly dynamodb: {
    readonly SequenceNumber: string
    /** Seconds. */
    readonly ApproximateCreationDateTime?: number | undefined
    readonly NewImage?: Image | undefined
    readonly OldImage?: Image | undefined
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

/** DynamoDB Local 3 writes an empty map as `{}`, which is no value at all. Nothing else comes so. */
export const withEmptyMaps = (record: StreamRecord): StreamRecord => {
  const { NewImage, OldImage } = record.dynamodb
  return {
    ...record,
    dynamodb: {
      ...record.dynamodb,
      ...(NewImage && { NewImage: values(NewImage) }),
      ...(OldImage && { OldImage: values(OldImage) }),
    },
  }
}

const values = (image: Image): Image =>
  Object.fromEntries(Object.entries(image).map(([name, one]) => [name, value(one)]))

function value(one: unknown): unknown {
  if (!isObject(one)) return one
  if (isObject(one.M)) return { M: values(one.M) }
  if (Array.isArray(one.L)) return { L: one.L.map(value) }
  return Object.keys(one).length === 0 ? { M: {} } : one
}
