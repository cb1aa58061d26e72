// How options become an engine: defaults, the two stores, and what one process remembers. The one place that builds
// one, for the verbs of `createQueues` and for tools beside them.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Clock, type DocumentPort, Dynamo, type Random } from '../aws/dynamo.ts'
import { type ObjectSource, Objects } from '../aws/objects.ts'
import { createSlotLimiter, KeptReading } from '../rate/limiter.ts'
import type { LingerOptions } from '../shared/linger.ts'
import { needed } from '../shared/options.ts'
import { BoundedCache, inWholeMs, secureRandom, systemClock } from '../shared/system.ts'
import { queueOfObjectKey } from './core/keys.ts'
import {
  IDEMPOTENCY_TTL_SECONDS,
  REMIND_AFTER_SECONDS,
  STUCK_QUEUES_REMEMBERED,
} from './core/limits.ts'
import type { Engine } from './driver/engine.ts'
import { readQueuePatterns } from './driver/queue-settings.ts'
import { Records } from './driver/records.ts'
import { ItemReader } from './requests/item-reader.ts'
import { type SegmentMoved, unwatched, watchSegments } from './requests/segment-rows.ts'

export type QueuesOptions = {
  readonly tableName: string
  readonly bucketName: string
  /** A client, a document client, or anything else that takes document commands. */
  readonly dynamodb: DynamoDBClient | DocumentPort
  /** A client, or how to make it when a long queue first needs it. */
  readonly s3: ObjectSource
  readonly clock?: Clock | undefined
  /** From [0, 1). Lock ids are made of it, so outside of tests nobody must be able to guess it. */
  readonly random?: Random | undefined
  /** How long the engine remembers an Idempotency-Key. Default: a day. */
  readonly idempotencyTtlSeconds?: number | undefined
  /** Must agree with the stack's setting, because a consumer there may wait for an event. Default: true. */
  readonly events?: boolean | undefined
  /**
   * After this many seconds, PushPop announces items again that nobody takes, then after twice as many, and so
   * on up to an hour. Default: 300. Only with `events`.
   */
  readonly remindAfterSeconds?: number | undefined
  /** How many pops may wait at once, in all processes that set this together. Default: any number. */
  readonly waitingPopsMax?: number | undefined
  /** Sends pushes to a queue that come at about the same time as one. Default: off. */
  readonly linger?: boolean | LingerOptions | undefined
  /** Called when work that no answer waits for has failed. By default the engine writes it to the console. */
  readonly onBackgroundError?: Engine['onBackgroundError'] | undefined
  /**
   * Called with the number of expired items that a call has taken out of a queue, whether it discarded them or sent
   * them to the dead letters.
   */
  readonly onItemsExpired?: Engine['onItemsExpired'] | undefined
  /** Called for each segment that goes to S3, and for each read from there: how long it took, and whether it failed. */
  readonly onSegmentMoved?: ((moved: SegmentMoved) => void) | undefined
}

export function createEngine(options: QueuesOptions): Engine {
  const {
    random = secureRandom,
    idempotencyTtlSeconds = IDEMPOTENCY_TTL_SECONDS,
    events = true,
    remindAfterSeconds = REMIND_AFTER_SECONDS,
    onBackgroundError = toConsole,
  } = options
  const clock = inWholeMs(options.clock ?? systemClock)
  const tableName = needed('createQueues', 'tableName', options.tableName)
  const bucketName = needed('createQueues', 'bucketName', options.bucketName)
  const dynamo = new Dynamo(options.dynamodb, tableName, clock, random)
  const objects = new Objects(options.s3, bucketName, clock, random, (error, key) =>
    onBackgroundError(error, { queue: queueOfObjectKey(key), step: 'read-object' }),
  )
  const { onSegmentMoved } = options
  const segments = onSegmentMoved === undefined ? unwatched : watchSegments(clock, onSegmentMoved)
  const remindAfterMs = events ? 1_000 * remindAfterSeconds : undefined
  return {
    dynamo,
    objects,
    items: new ItemReader(dynamo, objects, segments),
    segments,
    clock,
    random,
    records: new Records({ dynamo, clock, random, remindAfterMs }),
    behind: new WeakSet(),
    slots: createSlotLimiter({ dynamo, clock, random }),
    patterns: new KeptReading(clock, () => readQueuePatterns({ dynamo })),
    idempotencyTtlSeconds,
    events,
    remindAfterMs,
    waitingPopsMax: options.waitingPopsMax,
    seats: { allTakenUntilMs: Number.NEGATIVE_INFINITY },
    stuckUntilMs: new BoundedCache(STUCK_QUEUES_REMEMBERED),
    tidying: new Set(),
    onItemsExpired: options.onItemsExpired ?? (() => {}),
    onBackgroundError,
  }
}

const toConsole: Engine['onBackgroundError'] = (error, { queue, step }) => {
  console.warn(`PushPop: ${step} of queue "${queue}" failed and will be tried again:`, error)
}
