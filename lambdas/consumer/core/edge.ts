// What a worker needs from queues, and everything else that it touches. The engine provides it, and so does the
// client, which bundles this folder: so the folder imports only what the two share.

import type { Item } from './item.ts'
import type { Trouble } from './trouble.ts'

export type PoppedItem = Omit<Item, 'value'>

export type Popped =
  | {
      readonly kind: 'items'
      readonly items: readonly PoppedItem[]
      readonly lock?: { readonly id: string }
      readonly more: boolean
    }
  /** `more`: the pop passed over items that had expired, and others may lie behind. */
  | { readonly kind: 'empty'; readonly more?: true }
  | { readonly kind: 'locked' }

export type PopWith = {
  readonly requireAck: true
  readonly count: number
  readonly ttlSeconds: number
  readonly competing: boolean
  readonly acknowledge?: string
  readonly idempotencyKey?: string
}

type Settle = { readonly lockId: string; readonly ids?: readonly string[] }

/** The verbs that a worker uses, of the engine or over HTTP. */
export type Verbs = {
  browse(
    queue: string,
    request: { readonly limit: number },
  ): Promise<{
    readonly items: readonly {
      readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
      /** 0 before the first delivery. */
      readonly deliveries: number
    }[]
  }>
  pop(queue: string, request: PopWith): Promise<Popped>
  acknowledge(queue: string, request: Settle): Promise<unknown>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
  ): Promise<unknown>
  release(
    queue: string,
    request: Settle & { readonly delaySeconds?: number; readonly overtake?: boolean },
  ): Promise<unknown>
  deadLetter(queue: string, request: Settle & { readonly reason: string }): Promise<unknown>
}

export type Clock = {
  nowMs(): number
  /** Ends early when the signal comes, and never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** In place of a sleep while no lock is held: a test's clock moves on, and nobody waits. */
  skip?(ms: number, signal?: AbortSignal): Promise<void>
}

export type Edge = {
  readonly queues: Verbs
  readonly clock: Clock
  readonly random: () => number
  /** An idempotency key that nobody else uses. */
  readonly newKey: () => string
  readonly report: (trouble: Trouble) => void
  /** The error of a request that has no answer after so long. */
  readonly late: (ms: number) => Error
}
