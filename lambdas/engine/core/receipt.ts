/** What a receipt remembers of an idempotent push. */
export type Receipt = {
  readonly pk: string
  readonly sk: string
  /** Hash of the body: the same key with another body is a conflict. */
  readonly hash: string
  /** The append's tag; receipts of older engines have none. */
  readonly tag?: string
  /** Seconds; DynamoDB deletes it some time after, and until then it counts as gone. */
  readonly ttl: number
  /**
   * [priority, epoch, first sequence number] of each lane; empty if nobody can ever know them. Receipts of older
   * engines may lack the field.
   */
  readonly places?: readonly (readonly [number, string, number])[]
  /** For a push that scheduled items: its time, and how many seals it knew of. */
  readonly later?: readonly [number, number]
}
