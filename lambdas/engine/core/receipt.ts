/** What a receipt remembers of an idempotent push. */
export type Receipt = {
  readonly pk: string
  readonly sk: string
  /** Hash of the body: the same key with another body is a conflict. */
  readonly hash: string
  /** Seconds; DynamoDB deletes it some time after, and until then the condition ignores it. */
  readonly ttl: number
  /** [priority, epoch, first sequence number] of each lane, once known; none: they never will be. */
  readonly places?: readonly (readonly [number, string, number])[]
  /** While places are not known: each lane's epoch, a lower bound, and the first entry to look for. */
  readonly search?: readonly (readonly [number, string, number, string])[]
}
