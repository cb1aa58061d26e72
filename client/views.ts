// The answers of calls, from the wire's names to the engine's (docs/engine.md): camelCase, times in milliseconds,
// absent instead of null. Never convert items: their contents belong to the caller.

import { type LastingName, toldTimes } from '../shared/item-fields.ts'
import { type CamelCase, type CamelCased, camelCase, present, snakeCased } from '../shared/wire.ts'
import type { Item } from '../shared/worker/run.ts'
import type {
  AcknowledgeAnswer,
  BrowseAnswer,
  ConfigurationAnswer,
  ConfigureBody,
  ExtendLockAnswer,
  InspectAnswer,
  ListAnswer,
  PopAnswer,
  ScheduledAnswer,
} from './api-types.ts'
import type { ServiceErrorCode } from './errors.ts'
import { itemTexts } from './json.ts'

/** On the wire, times are in seconds, but the names do not say so; here, each name has its unit. */
const times = {
  ...toldTimes,
  start: 'startMs',
  end: 'endMs',
  next_due_at: 'nextDueMs',
  oldest_pushed_at: 'oldestPushedAtMs',
  lock_expires_at: 'expiresAtMs',
  blocked_until: 'blockedUntilMs',
  not_before: 'notBeforeMs',
  good_until: 'goodUntilMs',
  last_turn: 'lastTurnMs',
  starts_at: 'startsAtMs',
  ends_at: 'endsAtMs',
  next_at: 'nextAtMs',
  last_at: 'lastAtMs',
} as const

/** A field's name, from the wire's. */
export type Name<N> = N extends keyof typeof times ? (typeof times)[N] : CamelCase<N>

export type View<T> = T extends readonly (infer E)[]
  ? readonly View<E>[]
  : T extends object
    ? { readonly [N in keyof T as null extends T[N] ? never : Name<N>]: View<T[N]> } & {
        readonly [N in keyof T as null extends T[N] ? Name<N> : never]?: View<NonNullable<T[N]>>
      }
    : T

export const viewOf = <T>(body: T): View<T> => viewed(body) as View<T>

function viewed(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(viewed)
  if (typeof body !== 'object' || body === null) return body
  const fields = Object.entries(body).filter(([, value]) => value !== null)
  return Object.fromEntries(
    fields.map(([name, value]) => {
      const time = times[name as keyof typeof times]
      return time === undefined ? [camelCase(name), viewed(value)] : [time, ms(value)]
    }),
  )
}

/** Epoch seconds as milliseconds: rounded, because 1709139275.123 * 1000 is not whole. */
export const ms = (seconds: number): number => Math.round(seconds * 1000)

export type { Item }

/** Its `deliveries` count those so far: 0 before the first. */
export type PeekedItem<T> = Item<T> & {
  /** `waiting`: it was released with a delay. */
  readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
  /** For a waiting item: when it comes back. */
  readonly retryAtMs?: number
}

export type Lock = {
  readonly id: string
  /** By the service's clock. */
  readonly expiresAtMs: number
  /** The value used. */
  readonly ttlSeconds: number
}

export type Popped<T> = {
  readonly items: readonly Item<T>[]
  /** Present if the pop had `requireAck` and there were items. */
  readonly lock?: Lock
  /**
   * There is more: the answer was full, the pop passed over so many expired items that it stopped, or others were faster
   * than it after it had acknowledged.
   */
  readonly more: boolean
  /** How many items the lock had that `acknowledge` named. */
  readonly itemsAcknowledged?: number
}

/** An item for later, until it is due. */
export type ScheduledItem<T> = Pick<
  Item<T>,
  'value' | 'text' | 'id' | 'priority' | 'pushedAtMs' | LastingName
> & {
  readonly dueMs: number
}

export type ScheduledPage<T> = {
  readonly items: readonly ScheduledItem<T>[]
  readonly cursor?: string
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

export type CancelResult = {
  readonly id: string
  readonly result: 'cancelled' | 'locked' | 'gone'
}

export type MoveResult =
  | {
      readonly id: string
      readonly result: 'moved'
      /** Absent if a consumer took the item before PushPop could look up its new place. */
      readonly newId?: string
    }
  | { readonly id: string; readonly result: 'locked' | 'gone' }

/** How many calls of one kind a queue accepts. It refuses further ones with `RATE_LIMITED`. */
export type QueueLimit = CamelCased<NonNullable<ConfigureBody['push_limit']>>

export type Configuration = View<ConfigurationAnswer> & {
  /** For `ifMatch`. */
  readonly etag?: string
}

/** Settings that you leave out stay; `null` removes a setting. A limit is replaced as a whole. */
export type ConfigurationChange = CamelCased<ConfigureBody>

/** One priority. Its items are numbered from 0 in the order of pushes. */
export type LaneState = View<Omit<LaneAnswer, 'end'>> & Pick<LaneAnswer, 'end'>

type LaneAnswer = InspectAnswer['priorities'][number]

export type QueueState = {
  readonly id: string
  readonly version: number
  /** Items stored and not settled, including locked and waiting ones. */
  readonly count: number
  readonly lockedCount: number
  /** Items released with a delay that is not yet over. */
  readonly waitingCount: number
  /** Until when these hold back the others from pops that do not compete, if they do. */
  readonly blockedUntilMs?: number
  /**
   * Items on their way to the dead-letter queue, mostly for a moment; not in `count`. Those that have arrived are the
   * `count` of the queue `<id>-deadletter`.
   */
  readonly deadCount: number
  readonly scheduledCount: number
  /** When the first of them is due. If that is in the past, the queue has no room for it. */
  readonly nextDueMs?: number
  /** Present if the queue's record tells it, or you asked for it; absent if no item waits. */
  readonly oldestPushedAtMs?: number
  readonly priorities: readonly LaneState[]
  readonly locks: readonly {
    readonly expiresAtMs: number
    readonly count: number
    readonly priorities: readonly number[]
  }[]
  readonly configuration: Configuration
  readonly etag?: string
}

/** The count is absent if the service could not read the queue's record just now. */
export type QueueSummary = View<ListAnswer['queues'][number]>

export function poppedOf<T>(body: PopAnswer, text: string): Popped<T> {
  return present({
    items: itemsOf<T, PopAnswer['details'][number]>(body, text),
    lock: 'lock_id' in body ? lockOf(body) : undefined,
    more: body.more ?? false,
    itemsAcknowledged: body.items_acknowledged,
  })
}

export const lockOf = (body: ExtendLockAnswer | Extract<PopAnswer, { locked: true }>): Lock => ({
  id: body.lock_id,
  expiresAtMs: ms(body.lock_expires_at),
  ttlSeconds: body.ttl_seconds,
})

export const pageOf = <T>(body: BrowseAnswer, text: string): Page<T> =>
  present({
    items: itemsOf<T, BrowseAnswer['details'][number]>(body, text),
    cursor: body.cursor,
  })

export const scheduledOf = <T>(body: ScheduledAnswer, text: string): ScheduledPage<T> =>
  present({
    items: itemsOf<T, ScheduledAnswer['details'][number]>(body, text),
    cursor: body.cursor,
  })

type Detailed<D> = { readonly items: readonly unknown[]; readonly details: readonly D[] }

function itemsOf<T, D extends object>({ items, details }: Detailed<D>, body: string) {
  const texts = itemTexts(body)
  return details.map((detail, i) => ({
    ...viewOf(detail),
    value: items[i] as T,
    text: texts[i] ?? JSON.stringify(items[i]),
  }))
}

export const resultsOf = ({
  results,
}: Extract<AcknowledgeAnswer, { readonly results: unknown }>): AcknowledgeResult[] =>
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

export const configurationOf = (body: ConfigurationAnswer, etag?: string): Configuration => ({
  ...viewOf(body),
  ...present({ etag }),
})

/** Callers often send a configuration back with one setting changed. Its tag and source are not settings. */
export function configureBodyOf(change: ConfigurationChange & { readonly etag?: unknown }) {
  const { etag: _, source: __, ...settings } = change
  return snakeCased(settings) satisfies ConfigureBody
}

export const stateOf = ({ priorities, ...body }: InspectAnswer, etag?: string): QueueState => ({
  ...viewOf(body),
  // Take `end` out first: `viewOf` would convert it as a time.
  priorities: priorities.map(({ end, ...lane }) => ({ ...viewOf(lane), end })),
  ...present({ etag }),
})
