import type { StreamRecord } from '../../../local/streams/stream-reader.ts'

/** Made n seconds after the beginning of time. */
export const aRecord = (n: number, image: object = {}, before?: object): StreamRecord => ({
  eventID: `event-${n}`,
  dynamodb: {
    SequenceNumber: String(n),
    ApproximateCreationDateTime: n,
    NewImage: image,
    ...(before && { OldImage: before }),
  },
})
