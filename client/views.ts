// What the calls answer, in the words of the engine (docs/engine.md): camelCase, times in
// milliseconds, absent instead of null.

import type {
  AcknowledgeAnswer,
  BrowseAnswer,
  ConfigurationAnswer,
  ConfigureBody,
  InspectAnswer,
  PopAnswer,
} from './api-types.ts'
import type { ServiceErrorCode } from './errors.ts'
import { itemTexts } from './raw-json.ts'

export type Item<T> = {
  readonly value: T
  /** The item byte for byte: numbers that JavaScript would round are whole here. */
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
  /** Why it was dead-lettered, on a dead-letter queue. */
  readonly reason?: string
}

/** Its `deliveries` are those so far: 0 before the first. */
export type PeekedItem<T> = Item<T> & { readonly state: 'ready' | 'locked' }

export type Lock = {
  readonly id: string
  /** By the service's clock. */
  readonly expiresAtMs: number
  /** The value used. */
  readonly ttlSeconds: number
}

export type Popped<T> = {
  readonly items: readonly Item<T>[]
  /** Present if `ack` was asked for and there were items. */
  readonly lock?: Lock
  /** The answer was full before `count` was reached. */
  readonly more: boolean
  /** Of the lock that `acknowledge` named. */
  readonly itemsAcknowledged?: number
}

export type Page<T> = { readonly items: readonly PeekedItem<T>[]; readonly cursor?: string }

export type AcknowledgeResult =
  | { readonly lockId: string; readonly kind: 'acknowledged'; readonly itemsAcknowledged: number }
  | {
      readonly lockId: string
      readonly kind: 'refused'
      readonly code: ServiceErrorCode
      readonly message: string
      readonly retryable: boolean
    }

/** How many calls of one kind a queue takes; beyond it they are refused with `RATE_LIMITED`. */
export type QueueLimit = {
  readonly maxRequests: number
  /** 1,000, unless given. */
  readonly windowMillis?: number
  /** `window`, unless given. */
  readonly algorithm?: 'window' | 'smooth'
  /** Of `smooth`: 1, unless given. */
  readonly burst?: number
}

export type Configuration = {
  readonly segmentSize: number
  readonly bufferSegments: number
  readonly maxDeliveries?: number
  readonly capacity?: number
  readonly pushLimit?: Required<QueueLimit>
  readonly popLimit?: Required<QueueLimit>
  /** For `ifMatch`. */
  readonly etag?: string
}

/** What is left out stays; `null` takes a setting away. */
export type ConfigurationChange = {
  readonly segmentSize?: number
  readonly bufferSegments?: number
  readonly maxDeliveries?: number | null
  readonly capacity?: number | null
  /** Replaced as a whole. */
  readonly pushLimit?: QueueLimit | null
  readonly popLimit?: QueueLimit | null
}

export type QueueState = {
  readonly id: string
  readonly version: number
  /** Items stored and not settled, locked ones included. */
  readonly count: number
  readonly lockedCount: number
  /** Items on their way to the dead-letter queue; not in `count`. */
  readonly deadCount: number
  /** There where the queue's record tells, or it was asked for; absent too where nothing waits. */
  readonly oldestPushedAtMs?: number
  readonly priorities: readonly {
    readonly priority: number
    readonly count: number
    readonly headSegment: number
    readonly tailSegment: number
    readonly headOffloadedSegment?: number
    readonly tailOffloadedSegment?: number
  }[]
  readonly locks: readonly {
    readonly expiresAtMs: number
    readonly count: number
    readonly priorities: readonly number[]
  }[]
  readonly configuration: Configuration
  readonly etag?: string
}

/** No count where the service could not read the queue's record just now. */
export type QueueSummary = { readonly id: string; readonly count?: number }

export function poppedOf<T>(body: PopAnswer, text: string): Popped<T> {
  return {
    items: itemsOf<T>(body, text),
    ...('lock_id' in body && {
      lock: {
        id: body.lock_id,
        expiresAtMs: ms(body.lock_expires_at),
        ttlSeconds: body.ttl_seconds,
      },
    }),
    more: body.more ?? false,
    ...(body.items_acknowledged !== undefined && { itemsAcknowledged: body.items_acknowledged }),
  }
}

export function pageOf<T>(body: BrowseAnswer, text: string): Page<T> {
  const items = itemsOf<T>(body, text).map((item, i) => {
    return { ...item, state: body.details[i]?.state ?? ('ready' as const) }
  })
  return { items, ...(body.cursor !== undefined && { cursor: body.cursor }) }
}

function itemsOf<T>({ items, details }: Pick<PopAnswer, 'items' | 'details'>, body: string) {
  const texts = itemTexts(body)
  return details.map(({ id, priority, pushed_at, deliveries, reason }, i): Item<T> => {
    return {
      value: items[i] as T,
      text: texts[i] ?? JSON.stringify(items[i]),
      id,
      priority,
      pushedAtMs: ms(pushed_at),
      deliveries,
      ...(reason !== undefined && { reason }),
    }
  })
}

type ManyAnswer = Extract<AcknowledgeAnswer, { readonly results: unknown }>

export const resultsOf = ({ results }: ManyAnswer): AcknowledgeResult[] =>
  results.map((it) =>
    it.success
      ? { lockId: it.lock_id, kind: 'acknowledged', itemsAcknowledged: it.items_acknowledged }
      : {
          lockId: it.lock_id,
          kind: 'refused',
          code: it.error_code,
          message: it.message,
          retryable: it.retryable,
        },
  )

export function configurationOf(body: ConfigurationAnswer, etag?: string): Configuration {
  return {
    segmentSize: body.segment_size,
    bufferSegments: body.buffer_segments,
    ...(body.max_deliveries !== null && { maxDeliveries: body.max_deliveries }),
    ...(body.capacity !== null && { capacity: body.capacity }),
    // A service that was deployed before there were limits says nothing of them.
    ...(body.push_limit && { pushLimit: limitOf(body.push_limit) }),
    ...(body.pop_limit && { popLimit: limitOf(body.pop_limit) }),
    ...(etag !== undefined && { etag }),
  }
}

export const configureBodyOf = (change: ConfigurationChange): ConfigureBody => ({
  ...(change.segmentSize !== undefined && { segment_size: change.segmentSize }),
  ...(change.bufferSegments !== undefined && { buffer_segments: change.bufferSegments }),
  ...(change.maxDeliveries !== undefined && { max_deliveries: change.maxDeliveries }),
  ...(change.capacity !== undefined && { capacity: change.capacity }),
  ...(change.pushLimit !== undefined && { push_limit: limitBodyOf(change.pushLimit) }),
  ...(change.popLimit !== undefined && { pop_limit: limitBodyOf(change.popLimit) }),
})

type LimitBody = NonNullable<ConfigurationAnswer['push_limit']>

const limitOf = (body: LimitBody): Required<QueueLimit> => ({
  maxRequests: body.max_requests,
  windowMillis: body.window_millis,
  algorithm: body.algorithm,
  burst: body.burst,
})

const limitBodyOf = (limit: QueueLimit | null): ConfigureBody['push_limit'] & (object | null) =>
  limit && {
    max_requests: limit.maxRequests,
    ...(limit.windowMillis !== undefined && { window_millis: limit.windowMillis }),
    ...(limit.algorithm !== undefined && { algorithm: limit.algorithm }),
    ...(limit.burst !== undefined && { burst: limit.burst }),
  }

export function stateOf(body: InspectAnswer, etag?: string): QueueState {
  const { oldest_pushed_at: oldest } = body
  return {
    id: body.id,
    version: body.version,
    count: body.count,
    lockedCount: body.locked_count,
    deadCount: body.dead_count,
    ...(typeof oldest === 'number' && { oldestPushedAtMs: ms(oldest) }),
    priorities: body.priorities.map((it) => ({
      priority: it.priority,
      count: it.count,
      headSegment: it.head_segment,
      tailSegment: it.tail_segment,
      ...(it.head_offloaded_segment !== null && {
        headOffloadedSegment: it.head_offloaded_segment,
      }),
      ...(it.tail_offloaded_segment !== null && {
        tailOffloadedSegment: it.tail_offloaded_segment,
      }),
    })),
    locks: body.locks.map((it) => ({
      expiresAtMs: ms(it.lock_expires_at),
      count: it.count,
      priorities: it.priorities,
    })),
    configuration: configurationOf(body.configuration),
    ...(etag !== undefined && { etag }),
  }
}

/** Epoch seconds as milliseconds: rounded, because 1709139275.123 * 1000 is not whole. */
export const ms = (seconds: number): number => Math.round(seconds * 1000)
