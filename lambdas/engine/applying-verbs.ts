import type { PushItem } from './core/push-request.ts'
import type { Sequence } from './core/sequence.ts'

/** What came for a queue by way of the inbox. */
export type InboxMessage = {
  readonly sequence: Sequence
  readonly items: readonly PushItem[]
  /** If the queue has no room for it by then, or no turn in its limit, it does not wait any longer. */
  readonly waitsUntilMs: number
} & (
  | { readonly kind: 'push'; readonly idempotencyKey?: string }
  /** It cannot be pushed: these are its dead letters. */
  | { readonly kind: 'refused'; readonly reason: string }
)

export type Applied = {
  /** So many messages, the first ones, need not come again. */
  readonly settled: number
  /** How many of them it pushed now, had pushed before, and sent to the dead letters or gave up. */
  readonly pushed: number
  readonly repeated: number
  readonly refused: number
  readonly itemsPushed: number
  /** Those of them that are for later. */
  readonly itemsScheduled: number
  readonly itemsDeadLettered: number
  /** Why the next one, and with it all behind it, has to come again. */
  readonly error?: unknown
}

export interface ApplyingVerbs {
  /**
   * Applies the messages of a queue in their order, each once, however often they come: the record tells how
   * far the queue has come with them.
   */
  apply(
    queue: string,
    messages: readonly InboxMessage[],
    request?: {
      readonly deadlineMs?: number
      /** Keeps a message that a dead-letter queue does not take: it has no dead letters of its own. */
      readonly giveUp?: (message: InboxMessage, reason: string) => Promise<void>
    },
  ): Promise<Applied>
}
