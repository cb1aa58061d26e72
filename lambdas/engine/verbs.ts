import type { Configuration, ConfigurationChange } from './core/configuration.ts'
import type { DeadLetter } from './core/entry.ts'
import type { PopRequest } from './core/pop-request.ts'
import type { PushItem, PushRequest } from './core/push-request.ts'
import type { QueuePatternInput, QueuePatterns } from './core/queue-patterns.ts'
import type {
  AnnounceReport,
  AnnounceRequest,
  HousekeepReport,
  HousekeepRequest,
  StartTimersReport,
  SweepReport,
  SweepRequest,
} from './upkeep-verbs.ts'

// What callers of the engine ask for, and what they get.

export type * from './upkeep-verbs.ts'
export type { PopRequest, PushItem, PushRequest, QueuePatternInput, QueuePatterns }

/**
 * The engine's verbs. Expected outcomes are values; what a caller must act on is a `QueueError`
 * with a code from `foundation/errors.ts`; anything else that is thrown is a bug of ours.
 */
export interface Queues {
  push(queue: string, request: PushRequest): Promise<Pushed>
  /** An entry for the caller's own TransactWriteItems (document client form): pushes with it, or not at all. */
  pushTransactItem(queue: string, item: PushItem): Promise<TransactItem>
  pop(queue: string, request?: PopRequest): Promise<PopOutcome>
  acknowledge(
    queue: string,
    request: SettleRequest,
  ): Promise<{ readonly itemsAcknowledged: number }>
  acknowledgeMany(queue: string, lockIds: readonly string[]): Promise<readonly AcknowledgeResult[]>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
  ): Promise<{ readonly lockId: string; readonly expiresAtMs: number; readonly ttlSeconds: number }>
  release(queue: string, request: SettleRequest): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    queue: string,
    request: SettleRequest & { readonly reason?: string },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
  inspect(queue: string, request?: InspectRequest): Promise<QueueState>
  browse(queue: string, request?: BrowseRequest): Promise<BrowsePage>
  /** What the queue has, or would have if it were pushed to now. */
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    /** The revision of its own settings, or the tag of any (`configurationTag`). */
    request?: { readonly ifMatch?: number | string },
  ): Promise<Configuration>
  /** Takes the queue's own settings away: those of its pattern, or the default, apply again. */
  unconfigure(
    queue: string,
    request?: { readonly ifMatch?: number | string },
  ): Promise<Configuration>
  /** The settings of prefixes: a queue without settings of its own has those of the longest. */
  patterns(): Promise<QueuePatterns>
  /** Replaces them all. New queues have the new settings within 30 s; those that are there within some minutes. */
  configurePatterns(
    patterns: readonly QueuePatternInput[],
    request?: { readonly ifMatch?: number },
  ): Promise<QueuePatterns>
  /** The same for what a deployment brings, once for each hash: `replaced` are those from before, if it did. */
  deployPatterns(patterns: readonly QueuePatternInput[], hash: string): Promise<DeployedPatterns>
  purge(
    queue: string,
    request?: { readonly priority?: number },
  ): Promise<{ readonly itemsPurged: number }>
  redrive(
    deadLetterQueue: string,
    request?: { readonly limit?: number },
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
  list(request?: ListRequest): Promise<QueuePage>
  /** Seals, offloads, recalls, trims and dead-letters what the record says is due. */
  housekeep(queue: string, request?: HousekeepRequest): Promise<HousekeepReport>
  /** Ends expired locks of due queues; bounded a run, and the next run goes on where this one ended. */
  returnExpiredLocks(request?: SweepRequest): Promise<SweepReport>
  /** Announces every queue that has items and nobody at work, for consumers that were mended or are new. */
  announceWaiting(request?: AnnounceRequest): Promise<AnnounceReport>
  /** Gives a timer to queues whose items came without one; walks when that is due, which is once a day. */
  startTimers(request: { readonly deadlineMs: number }): Promise<StartTimersReport>
}

export type DeployedPatterns = QueuePatterns & { readonly replaced?: QueuePatterns }

export type Pushed = {
  readonly ids: readonly string[]
  /** An earlier push with this key did it; this one changed nothing. */
  readonly repeated?: true
}

export type PoppedItem = DeadLetter & {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
}

export type PopOutcome =
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
  | { readonly kind: 'empty'; readonly itemsAcknowledged?: number }
  | { readonly kind: 'locked'; readonly expiresAtMs: number }

export type SettleRequest = { readonly lockId: string; readonly ids?: readonly string[] }

export type AcknowledgeResult =
  | { readonly lockId: string; readonly kind: 'acknowledged'; readonly itemsAcknowledged: number }
  | {
      readonly lockId: string
      readonly kind: 'refused'
      readonly code: 'LOCK_NOT_FOUND' | 'LOCK_EXPIRED' | 'INVALID_LOCK_ID' | 'STORE_UNAVAILABLE'
      readonly message: string
    }

export type InspectRequest = {
  readonly consistent?: boolean
  /** Tell how old the oldest item is, also where that takes a read of each priority. */
  readonly oldest?: boolean
}

export type LaneState = {
  readonly priority: number
  /** Items stored and not settled, locked ones included, dead ones not. */
  readonly count: number
  readonly headSegment: number
  readonly tailSegment: number
  readonly headOffloadedSegment?: number
  readonly tailOffloadedSegment?: number
}

export type QueueState = {
  readonly queue: string
  readonly version: number
  readonly count: number
  readonly lockedCount: number
  /** Items on their way to the dead-letter queue. */
  readonly deadCount: number
  /** There where the record itself tells, or it was asked for; absent too where nothing waits. */
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
  readonly priority?: number
  readonly limit?: number
  readonly cursor?: string
}
export type BrowsePage = {
  readonly items: readonly (PoppedItem & { readonly state: 'ready' | 'locked' })[]
  readonly cursor?: string
}

export type ListRequest = {
  readonly prefix?: string | undefined
  /** Just these, in this order, whether or not they exist: instead of a prefix and pages. */
  readonly ids?: readonly string[] | undefined
  /** What each record says beside its count. */
  readonly detail?: boolean | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** No count, and no detail, where the record could not be read: it is throttled, or of a newer format. */
export type QueueSummary = {
  readonly queue: string
  readonly count?: number
  readonly detail?: {
    readonly lockedCount: number
    readonly deadCount: number
    /** Items whose time has not come: none, as long as nothing can be scheduled. */
    readonly scheduledCount: number
    /** Those that hold items. */
    readonly lanes: readonly { readonly priority: number; readonly count: number }[]
  }
}

export type QueuePage = {
  readonly queues: readonly QueueSummary[]
  readonly cursor?: string
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
