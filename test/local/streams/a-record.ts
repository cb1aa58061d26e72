import type { StreamRecord } from '../../../local/streams/stream-record.ts'

/** Made n seconds after the beginning of time. */
export const aRecord = (n: number, image: object = {}): StreamRecord => ({
  eventID: `event-${n}`,
  dynamodb: { SequenceNumber: String(n), ApproximateCreationDateTime: n, ...{ NewImage: image } },
})
