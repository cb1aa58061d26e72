import type { DynamoDBBatchResponse, DynamoDBRecord } from 'aws-lambda'

type StreamFaults = {
  readonly random: () => number
  /** Handed to the function, which answers or throws. */
  readonly deliver: (batch: readonly DynamoDBRecord[]) => Promise<DynamoDBBatchResponse>
}

export type Deliveries = {
  batches: number
  repeated: number
  thrown: number
  partlyFailed: number
  halved: number
  rewound: number
}

/**
 * Hands records over as Lambda does, in lanes that each keep their order: batches of any size, from
 * the first failure on again, halved after a failure, as a whole again after one that was lost, and at
 * times records again that were done with. It gives up nothing.
 */
export async function deliverAll(
  lanes: readonly (readonly DynamoDBRecord[])[],
  { random, deliver }: StreamFaults,
): Promise<Deliveries> {
  const counts: Deliveries = {
    ...{ batches: 0, repeated: 0, thrown: 0, partlyFailed: 0, halved: 0, rewound: 0 },
  }
  for (const records of lanes) {
    let from = 0
    let size = 100
    while (from < records.length) {
      const batch = records.slice(from, from + 1 + Math.floor(random() * size))
      counts.batches += 1
      const answer = await deliver(batch).catch(() => undefined)
      const done = doneOf(batch, answer)
      from += done
      if (answer === undefined) counts.thrown += 1
      if (done < batch.length) {
        counts.partlyFailed += answer === undefined ? 0 : 1
        counts.repeated += 1
        if (size > 1) counts.halved += 1
        size = Math.max(1, Math.floor(size / 2))
      } else {
        size = 100
        if (random() < 0.4 && from > 0) {
          // A checkpoint that was lost.
          from -= Math.floor(random() * Math.min(from, 50))
          counts.rewound += 1
        }
      }
    }
  }
  return counts
}

/** How many of a batch's records are done with. */
function doneOf(batch: readonly DynamoDBRecord[], answer: DynamoDBBatchResponse | undefined) {
  if (answer === undefined) return 0
  const failed = answer.batchItemFailures.map(({ itemIdentifier }) =>
    batch.findIndex(({ dynamodb }) => dynamodb?.SequenceNumber === itemIdentifier),
  )
  return failed.length === 0 ? batch.length : Math.max(0, Math.min(...failed))
}
