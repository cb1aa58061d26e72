import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BoundedCache } from '../foundation/bounded-cache.ts'
import { type Clock, type DocumentPort, Dynamo, type Random } from '../foundation/dynamo.ts'
import { type ObjectSource, Objects } from '../foundation/objects.ts'
import { secureRandom, systemClock } from '../foundation/system.ts'
import { createSlotEngine } from '../rate/operations/rate-engine.ts'
import type { Configuration, ConfigurationChange } from './core/configuration.ts'
import { queueOfObjectKey } from './core/keys.ts'
import {
  IDEMPOTENCY_TTL_SECONDS,
  REMEMBERED_RECORD_BYTES_MAX,
  REMIND_AFTER_SECONDS,
  STUCK_QUEUES_REMEMBERED,
} from './core/limits.ts'
import type { PopRequest } from './core/pop-request.ts'
import type { PushItem, PushRequest } from './core/push-request.ts'
import { announceWaiting } from './operations/announce-waiting.ts'
import { browse } from './operations/browse.ts'
import { configuration, configure } from './operations/configure.ts'
import type { Engine } from './operations/engine.ts'
import { extend } from './operations/extend.ts'
import { housekeep } from './operations/housekeep.ts'
import { inspect } from './operations/inspect.ts'
import { list } from './operations/list.ts'
import { pop } from './operations/pop.ts'
import { purge } from './operations/purge.ts'
import { push } from './operations/push.ts'
import { redrive } from './operations/redrive.ts'
import { acknowledge, acknowledgeMany, deadLetter, release } from './operations/settle.ts'
import { startTimers } from './operations/start-timers.ts'
import { returnExpiredLocks } from './operations/sweep.ts'
import { pushTransactItem } from './operations/transact-item.ts'
import { ItemReader } from './store/items.ts'

export type QueuesOptions = {
  readonly tableName: string
  readonly bucketName: string
  /** A client, a document client, or whatever takes document commands. */
  readonly dynamodb: DynamoDBClient | DocumentPort
  /** A client, or how to make it when a long queue first needs it. */
  readonly s3: ObjectSource
  readonly clock?: Clock
  /** [0, 1); it makes lock ids, so it must not be guessable outside of tests. */
  readonly random?: Random
  /** How long an Idempotency-Key is remembered: a day, unless set. */
  readonly idempotencyTtlSeconds?: number
  /** Must be as it is for the stack, where a consumer may wait for an event; true, unless set. */
  readonly events?: boolean
  /**
   * Items that nobody takes are announced again after this many seconds, then after twice as many, and so
   * on up to an hour; 300, unless set. Only with `events`.
   */
  readonly remindAfterSeconds?: number
  /** Work that no answer waits for has failed; by default it is written to the console. */
  readonly onBackgroundError?: Engine['onBackgroundError']
}

export type { PopRequest, PushItem, PushRequest }

/** The engine on a table and bucket: used alike by the Lambdas, the tests and without HTTP. */
export function createQueues(options: QueuesOptions): Queues {
  const clock = options.clock ?? systemClock
  const random = options.random ?? secureRandom
  const dynamo = new Dynamo(options.dynamodb, options.tableName, clock, random)
  const onBackgroundError = options.onBackgroundError ?? toConsole
  const objects = new Objects(options.s3, options.bucketName, clock, random, (error, key) =>
    onBackgroundError(error, { queue: queueOfObjectKey(key), step: 'read-object' }),
  )
  const engine: Engine = {
    dynamo,
    objects,
    items: new ItemReader(dynamo, objects),
    clock,
    random,
    memory: new BoundedCache(REMEMBERED_RECORD_BYTES_MAX),
    alone: new WeakSet(),
    limitsSeenMs: new WeakMap(),
    slots: createSlotEngine({ dynamo, clock, random }),
    idempotencyTtlSeconds: options.idempotencyTtlSeconds ?? IDEMPOTENCY_TTL_SECONDS,
    events: options.events ?? true,
    remindAfterMs:
      options.events === false
        ? undefined
        : 1_000 * (options.remindAfterSeconds ?? REMIND_AFTER_SECONDS),
    stuckUntilMs: new BoundedCache(STUCK_QUEUES_REMEMBERED),
    tidying: new Set(),
    onBackgroundError,
  }
  return {
    push: (queue, request) => push(engine, queue, request),
    pushTransactItem: (queue, item) => pushTransactItem(engine, queue, item),
    pop: (queue, request) => pop(engine, queue, request),
    acknowledge: (queue, request) => acknowledge(engine, queue, request),
    acknowledgeMany: (queue, lockIds) => acknowledgeMany(engine, queue, lockIds),
    extend: (queue, request) => extend(engine, queue, request),
    release: (queue, request) => release(engine, queue, request),
    deadLetter: (queue, request) => deadLetter(engine, queue, request),
    inspect: (queue, request) => inspect(engine, queue, request),
    browse: (queue, request) => browse(engine, queue, request),
    configuration: (queue) => configuration(engine, queue),
    configure: (queue, change, request) => configure(engine, queue, change, request),
    purge: (queue, request) => purge(engine, queue, request),
    redrive: (queue, request) => redrive(engine, queue, request),
    list: (request) => list(engine, request),
    housekeep: (queue, request) => housekeep(engine, queue, request),
    returnExpiredLocks: (request) => returnExpiredLocks(engine, request),
    announceWaiting: (request) => announceWaiting(engine, request),
    startTimers: (request) => startTimers(engine, request),
  }
}

const toConsole: Engine['onBackgroundError'] = (error, { queue, step }) => {
  console.warn(`PushPop: ${step} of queue "${queue}" failed and will be tried again:`, error)
}

/**
 * The engine's verbs. Expected outcomes are values; what a caller must act on is a `QueueError`
 * with a code from `core/errors.ts`; anything else thrown is a fault of ours.
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
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    request?: { readonly ifMatch?: number },
  ): Promise<Configuration>
  purge(
    queue: string,
    request?: { readonly priority?: number },
  ): Promise<{ readonly itemsPurged: number }>
  redrive(
    deadLetterQueue: string,
    request?: { readonly limit?: number },
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
  list(request?: {
    readonly prefix?: string
    readonly limit?: number
    readonly cursor?: string
  }): Promise<QueuePage>
  /** Seals, offloads, recalls, trims and dead-letters whatever the record says is due. */
  housekeep(queue: string, request?: HousekeepRequest): Promise<HousekeepReport>
  /** Ends expired locks of due queues; bounded a run, and the next run goes on where this one ended. */
  returnExpiredLocks(request?: SweepRequest): Promise<SweepReport>
  /** Announces every queue that has items and nobody at work, for consumers that were mended or are new. */
  announceWaiting(request?: AnnounceRequest): Promise<AnnounceReport>
  /** Gives a timer to queues whose items came without one; walks when that is due, which is once a day. */
  startTimers(request: { readonly deadlineMs: number }): Promise<StartTimersReport>
}

export type Pushed = { readonly ids: readonly string[] }

export type PoppedItem = {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
  /** Why it was dead-lettered, on a dead-letter queue. */
  readonly reason?: string
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

export type QueuePage = {
  /** No count where the record could not be read: it is throttled, or of a newer format. */
  readonly queues: readonly { readonly queue: string; readonly count?: number }[]
  readonly cursor?: string
}

export type HousekeepReport = {
  readonly sealed: number
  readonly offloaded: number
  readonly recalled: number
  readonly trimmed: number
  readonly deadLettered: number
  /** False when something is left that this run could not do. */
  readonly finished: boolean
}

export type HousekeepRequest = {
  /**
   * Leaves dead items that this process could not move within the last minute to the sweeper: for a
   * caller that comes with every change of the queue.
   */
  readonly leaveStuck?: boolean
}
export type SweepRequest = {
  readonly queuesMax?: number
  /** Take no more queues after this time; a minute from now unless set. */
  readonly deadlineMs?: number
  /** Leave what may take long (housekeeping, forgetting) at this time; the deadline unless set. */
  readonly tidyUntilMs?: number
  /** Of the 16 that queues are spread over, those that this call looks at; all unless set. */
  readonly shards?: readonly number[]
}
export type SweepReport = {
  readonly queues: number
  readonly itemsReturned: number
  readonly itemsDeadLettered: number
  /**
   * How long the lock that waited longest had been over, of those that were ended; and of the queues
   * that were met and not served, how long the timer of the first has been.
   */
  readonly lagMs: number
  readonly failed: readonly SweepFailure[]
  /** Something was left for the next run. */
  readonly more: boolean
}

/** A queue that could not be served, or a shard of which nobody could tell what is due in it. */
export type SweepFailure = {
  readonly queue?: string
  readonly shard?: number
  readonly error: unknown
}

export type AnnounceRequest = {
  /** Of the ids; all queues unless set. */
  readonly prefix?: string
  /** Where an earlier call stopped. */
  readonly cursor?: string
  readonly deadlineMs?: number
}
export type AnnounceReport = {
  /** Looked at, whether or not they could be read. */
  readonly queues: number
  readonly announced: number
  /** Not announced because of an error; the errors went to `onBackgroundError`. */
  readonly failed: number
  /** There are more queues: go on from here. */
  readonly cursor?: string
}

export type StartTimersReport = {
  readonly queues: number
  readonly started: number
  /** Passed, because their records could not be read or written; a later walk comes to them again. */
  readonly failed: number
  /** No further walk is needed, or it would not help. */
  readonly finished: boolean
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
