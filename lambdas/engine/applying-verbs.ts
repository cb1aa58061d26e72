import type { PushItem } from './core/push-request.ts'
import type { Sequence } from './core/sequence.ts'

/** A message that the inbox brought for a queue. */
export type InboxMessage = {
  readonly sequence: Sequence
  readonly items: readonly PushItem[]
  /** If the queue's room or its limit has not let it in by then, it stops waiting. */
  readonly waitsUntilMs: number
} & (
  | { readonly kind: 'push'; readonly idempotencyKey?: string }
  /** It cannot be pushed: these are its dead letters. */
  | { readonly kind: 'refused'; readonly reason: string }
)

export type Applied = {
  /** How many messages, counted from the first, need not come again. */
  readonly settled: number
  /** How many of those it pushed now, how many it had pushed before, and how many it dead-lettered or gave up. */
  readonly pushed: number
  readonly repeated: number
  readonly refused: number
  readonly itemsPushed: number
  /** Those of them that are for later. */
  readonly itemsScheduled: number
  readonly itemsDeadLettered: number
  /** Why the next message, and every one behind it, has to come again. */
  readonly error?: unknown
}

export interface ApplyingVerbs {
  /**
   * Applies the messages of a queue in order, each once, however often SQS delivers them: the record says how
   * many it has applied.
   */
  apply(
    queue: string,
    messages: readonly InboxMessage[],
    request?: {
      readonly deadlineMs?: number
      /** Keeps a message that could not be pushed to a dead-letter queue, which has no dead letters of its own. */
      readonly giveUp?: (message: InboxMessage, reason: string) => Promise<void>
    },
  ): Promise<Applied>
}
