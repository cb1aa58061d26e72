import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BoundedCache } from '../foundation/bounded-cache.ts'
import { type Clock, type DocumentPort, Dynamo, type Random } from '../foundation/dynamo.ts'
import { needed } from '../foundation/needed.ts'
import { type ObjectSource, Objects } from '../foundation/objects.ts'
import type { LingerOptions } from '../foundation/shared/linger/options.ts'
import { secureRandom, systemClock } from '../foundation/system.ts'
import { KeptReading } from '../rate/operations/kept-reading.ts'
import { createSlotLimiter } from '../rate/operations/limiter.ts'
import { queueOfObjectKey } from './core/keys.ts'
import {
  IDEMPOTENCY_TTL_SECONDS,
  REMEMBERED_RECORD_BYTES_MAX,
  REMIND_AFTER_SECONDS,
  STUCK_QUEUES_REMEMBERED,
} from './core/limits.ts'
import type { Engine } from './operations/attempts/engine.ts'
import { readQueuePatterns } from './operations/attempts/patterns.ts'
import { ItemReader } from './store/items.ts'
import { type SegmentMoved, unwatched, watchSegments } from './store/segment-watch.ts'

export type QueuesOptions = {
  readonly tableName: string
  readonly bucketName: string
  /** A client, a document client, or anything else that takes document commands. */
  readonly dynamodb: DynamoDBClient | DocumentPort
  /** A client, or how to make it when a long queue first needs it. */
  readonly s3: ObjectSource
  readonly clock?: Clock | undefined
  /** [0, 1); it makes lock ids, so it must not be guessable outside of tests. */
  readonly random?: Random | undefined
  /** How long an Idempotency-Key is remembered: a day, unless set. */
  readonly idempotencyTtlSeconds?: number | undefined
  /** Must be as it is for the stack, where a consumer may wait for an event; true, unless set. */
  readonly events?: boolean | undefined
  /**
   * Items that nobody takes are announced again after this many seconds, then after twice as many, and so
   * on up to an hour; 300, unless set. Only with `events`.
   */
  readonly remindAfterSeconds?: number | undefined
  /** How many pops may wait at once, over all processes that say so; any number unless set. */
  readonly waitingPopsMax?: number | undefined
  /** Pushes to a queue that come at about the same time go as one. Off unless set. */
  readonly linger?: boolean | LingerOptions | undefined
  /** Work that no answer waits for has failed; by default the engine writes it to the console. */
  readonly onBackgroundError?: Engine['onBackgroundError'] | undefined
  /**
   * Called with the number of expired items that a call has taken out of a queue, discarded or on their way to the
   * dead letters.
   */
  readonly onItemsExpired?: Engine['onItemsExpired'] | undefined
  /** Told of each segment that goes to S3, and of each read from there: how long it took, and if it failed. */
  readonly onSegmentMoved?: ((moved: SegmentMoved) => void) | undefined
}

/** The one place that builds an engine: for the verbs of `createQueues`, and for tools beside them. */
export function createEngine(options: QueuesOptions): Engine {
  const {
    clock = systemClock,
    random = secureRandom,
    idempotencyTtlSeconds = IDEMPOTENCY_TTL_SECONDS,
    events = true,
    remindAfterSeconds = REMIND_AFTER_SECONDS,
    onBackgroundError = toConsole,
  } = options
  const tableName = needed('createQueues', 'tableName', options.tableName)
  const bucketName = needed('createQueues', 'bucketName', options.bucketName)
  const dynamo = new Dynamo(options.dynamodb, tableName, clock, random)
  const objects = new Objects(options.s3, bucketName, clock, random, (error, key) =>
    onBackgroundError(error, { queue: queueOfObjectKey(key), step: 'read-object' }),
  )
  const { onSegmentMoved } = options
  const segments = onSegmentMoved === undefined ? unwatched : watchSegments(clock, onSegmentMoved)
  return {
    dynamo,
    objects,
    items: new ItemReader(dynamo, objects, segments),
    segments,
    clock,
    random,
    memory: new BoundedCache(REMEMBERED_RECORD_BYTES_MAX),
    alone: new WeakSet(),
    behind: new WeakSet(),
    limitsSeenMs: new WeakMap(),
    slots: createSlotLimiter({ dynamo, clock, random }),
    patterns: new KeptReading(clock, () => readQueuePatterns({ dynamo })),
    idempotencyTtlSeconds,
    events,
    remindAfterMs: events ? 1_000 * remindAfterSeconds : undefined,
    waitingPopsMax: options.waitingPopsMax,
    seats: { allTakenUntilMs: Number.NEGATIVE_INFINITY },
    stuckUntilMs: new BoundedCache(STUCK_QUEUES_REMEMBERED),
    blockedRows: new BoundedCache(STUCK_QUEUES_REMEMBERED),
    tidying: new Set(),
    onItemsExpired: options.onItemsExpired ?? (() => {}),
    onBackgroundError,
  }
}

const toConsole: Engine['onBackgroundError'] = (error, { queue, step }) => {
  console.warn(`PushPop: ${step} of queue "${queue}" failed and will be tried again:`, error)
}
