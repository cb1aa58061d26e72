// The verbs that callers have for items and for looking at queues: what each takes, and what it answers. Types alone.

import type { PopRequest, PushItem, PushRequest } from './core/check-requests.ts'
import type { DeadLetter } from './core/item.ts'
import type { Configuration } from './core/settings.ts'
import type { LaneState } from './core/views.ts'

export interface PushingVerbs {
  push(queue: string, request: PushRequest): Promise<Pushed>
  /** Sends the pushes that linger, and resolves when all of them have their answers; it never rejects. */
  flush(): Promise<void>
}

export type Pushed = {
  readonly ids: readonly string[]
  /** An earlier push with this key pushed the items; this one changed nothing. */
  readonly repeated?: true
}

export interface TransactingVerbs {
  /** An entry for the caller's own TransactWriteItems (document client form): pushes with it, or not at all. */
  pushTransactItem(queue: string, item: PushItem): Promise<TransactItem>
  /**
   * The loop around `pushTransactItem`: pushes the items in a transaction that `send` sends with these
   * entries. It tries again if the queue is in the way, and throws the caller's own errors. It returns what
   * `send` returned, or undefined if the transaction passed and its answer was lost.
   */
  transact<T>(
    queue: string,
    items: readonly PushItem[],
    send: (entries: readonly TransactItem[]) => Promise<T>,
  ): Promise<T | undefined>
}

/** An entry of TransactWriteItems in document client form. */
export type TransactItem = {
  readonly Update: {
    readonly TableName: string
    readonly Key: Record<string, unknown>
    readonly UpdateExpression: string
    readonly ConditionExpression: string
    readonly ExpressionAttributeNames: Record<string, string>
    readonly ExpressionAttributeValues: Record<string, unknown>
    readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
  }
}

export interface PoppingVerbs {
  pop(queue: string, request?: PopRequest): Promise<PopOutcome>
}

export type PoppedItem = DeadLetter & {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
  /** From then on, no pop returns it. */
  readonly expiresAtMs?: number
  /** For an item that was pushed for later: its id while it was scheduled, and when it was due. */
  readonly scheduledId?: string
  readonly dueMs?: number
}

/** `waitedMs`: how long the pop waited, if it was asked to and found nothing at first. 0: too many others wait. */
export type PopOutcome = (
  | {
      readonly kind: 'items'
      readonly items: readonly PoppedItem[]
      readonly lock?: {
        readonly id: string
        readonly expiresAtMs: number
        readonly ttlSeconds: number
      }
      /** The answer was full before `count` was reached. */
      readonly more: boolean
      readonly itemsAcknowledged?: number
    }
  | {
      readonly kind: 'empty'
      readonly itemsAcknowledged?: number
      /**
       * Pop again, because there may be more: the pop passed over expired items and has not seen the end of them, or it
       * acknowledged a lock, and then another consumer locked the queue, or the queue's limit was reached.
       */
      readonly more?: true
    }
  | {
      readonly kind: 'locked'
      readonly expiresAtMs: number
      /** Nobody holds a lock: items that were released with a delay keep the others waiting until then. */
      readonly forRetry?: true
    }
) & { readonly waitedMs?: number }

/** What a caller does with the items that it has locked. */
export interface SettlingVerbs {
  acknowledge(
    queue: string,
    request: SettleRequest,
  ): Promise<{ readonly itemsAcknowledged: number }>
  acknowledgeMany(queue: string, lockIds: readonly string[]): Promise<readonly AcknowledgeResult[]>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
  ): Promise<{ readonly lockId: string; readonly expiresAtMs: number; readonly ttlSeconds: number }>
  release(queue: string, request: ReleaseRequest): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    queue: string,
    request: SettleRequest & { readonly reason?: string | undefined },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
}

export type SettleRequest = { readonly lockId: string; readonly ids?: readonly string[] }

export type ReleaseRequest = SettleRequest & {
  /** How long the items wait before they come back: 0 (the default) to 86,400. Other items wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The other items do not wait: until then, pops of an exclusive queue pass these items. */
  readonly overtake?: boolean | undefined
}

export type AcknowledgeResult =
  | { readonly lockId: string; readonly kind: 'acknowledged'; readonly itemsAcknowledged: number }
  | {
      readonly lockId: string
      readonly kind: 'refused'
      readonly code: 'LOCK_NOT_FOUND' | 'LOCK_EXPIRED' | 'INVALID_LOCK_ID' | 'STORE_UNAVAILABLE'
      readonly message: string
    }

/** Verbs for items that wait or are scheduled, named by their ids; a purge or a redrive may take all there are. */
export interface ByIdVerbs {
  /** Removes items that wait or are scheduled; locked items stay. The results have the order of the ids. */
  cancel(queue: string, ids: readonly string[]): Promise<readonly CancelResult[]>
  /**
   * Moves waiting items to the end of another lane, in their order, and changes which lane scheduled items will
   * join; or puts both off to a later time. Locked items stay.
   */
  move(queue: string, request: MoveRequest): Promise<readonly MoveResult[]>
  purge(queue: string, request?: PurgeRequest): Promise<{ readonly itemsPurged: number }>
  redrive(
    deadLetterQueue: string,
    request?: RedriveRequest,
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
}

export type CancelResult = {
  readonly id: string
  readonly result: 'cancelled' | 'locked' | 'gone'
}

export type MoveRequest = {
  readonly ids: readonly string[]
  /** Where they go: another priority, another queue, or both. If you name only one, the other stays as it is. */
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** When they become due; items that already wait are scheduled for then, too. A time in the past means now. */
  readonly deliverAtMs?: number | undefined
}

export type MoveResult =
  | {
      readonly id: string
      readonly result: 'moved'
      /** Absent if a consumer had taken and settled the item before this call could look up its new place. */
      readonly newId?: string
    }
  | { readonly id: string; readonly result: 'locked' | 'gone' }

export type PurgeRequest = {
  readonly priority?: number | undefined
  /** Purges only these items, even locked ones. Give either this or a priority. */
  readonly ids?: readonly string[] | undefined
}

export type RedriveRequest = {
  readonly limit?: number | undefined
  /** Only these items. Give either this or a limit. */
  readonly ids?: readonly string[] | undefined
}

/** They show what there is, and take nothing. */
export interface LookingVerbs {
  inspect(queue: string, request?: InspectRequest): Promise<QueueState>
  browse(queue: string, request?: BrowseRequest): Promise<BrowsePage>
  list(request?: ListRequest): Promise<QueuePage>
  /** The scheduled items, in the order of time. */
  scheduled(queue: string, request?: ScheduledRequest): Promise<ScheduledPage>
}

/** Of a queue. */
export type Waiting = {
  /** Items that were released with a delay that is not yet over. */
  readonly waitingCount: number
  /** Until when such items hold back the others from pops without `competing`, if they do. */
  readonly blockedUntilMs?: number
}

/** Of an item. */
export type ItemState = {
  /** `expired`: still stored, but no pop returns it. */
  readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
  /** For a waiting item: when it comes back. */
  readonly retryAtMs?: number
}

export type InspectRequest = {
  readonly consistent?: boolean | undefined
  /** Returns how old the oldest item is, even if that takes a read of each priority. */
  readonly oldest?: boolean | undefined
}

export type QueueState = Waiting & {
  readonly queue: string
  readonly version: number
  readonly count: number
  readonly lockedCount: number
  /** Items on their way to the dead-letter queue. */
  readonly deadCount: number
  /** Items whose time has not come, or that have found no room since. */
  readonly scheduledCount: number
  /** When the first of them is due. If that is in the past, the queue has no room for it. */
  readonly nextDueMs?: number
  /** Present if the record itself tells it, or the caller asked for it; absent if no item waits. */
  readonly oldestPushedAtMs?: number
  readonly lanes: readonly LaneState[]
  readonly locks: readonly {
    readonly expiresAtMs: number
    readonly count: number
    readonly priorities: readonly number[]
  }[]
  readonly configuration: Configuration
  readonly etag: string
}

export type BrowseRequest = {
  readonly priority?: number | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Begins at this item, or at its former place if it is gone. */
  readonly from?: string | undefined
  /** `newest`: backwards, from the end. */
  readonly order?: 'oldest' | 'newest' | undefined
}
export type BrowsePage = {
  readonly items: readonly (PoppedItem & ItemState)[]
  readonly cursor?: string
}

export type ListRequest = {
  readonly prefix?: string | undefined
  /** Only these, in this order, whether or not they exist. Give either this, or a prefix and pages. */
  readonly ids?: readonly string[] | undefined
  /** Returns more of each record than its count. */
  readonly detail?: boolean | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Without count and detail if the record could not be read, because it is throttled or has a newer format. */
export type QueueSummary = {
  readonly queue: string
  readonly count?: number
  readonly detail?: Waiting & {
    readonly lockedCount: number
    readonly deadCount: number
    /** Items whose time has not come, or that have found no room since. */
    readonly scheduledCount: number
    /** The lanes that hold items. */
    readonly lanes: readonly { readonly priority: number; readonly count: number }[]
  }
}

export type QueuePage = {
  readonly queues: readonly QueueSummary[]
  readonly cursor?: string
}

export type ScheduledRequest = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Only items that are due from this time on, and up to `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export type ScheduledItem = {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  readonly dueMs: number
}

export type ScheduledPage = {
  readonly items: readonly ScheduledItem[]
  readonly cursor?: string
}
