import type { Consumed, ConsumeOptions, Handler } from './consume/options.ts'
import type { RawJson } from './raw-json.ts'
import type { Schedules } from './schedules.ts'
import type {
  AcknowledgeResult,
  CancelResult,
  Configuration,
  ConfigurationChange,
  Item,
  MoveResult,
  Page,
  PeekedItem,
  Popped,
  QueueState,
  ScheduledPage,
} from './views.ts'

/** Any JSON value: the type of a queue's items unless it is given. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json }

/** Ends a call at once. A call that changes something may have done so: its error says `outcome: 'unknown'`. */
export type CallOptions = { readonly signal?: AbortSignal | undefined }

/** Changes a configuration only if it is still the one with this `etag`. */
export type MatchOptions = CallOptions & { readonly ifMatch?: string | undefined }

/** A key makes repeats of a request have one effect. A push with one costs one and a half times as much. */
export type KeyOptions = {
  /** Makes a key, so that this call may be sent again when its answer was lost. */
  readonly idempotent?: boolean | undefined
  /** Your own key, which also works across processes: 1 to 128 printable characters. */
  readonly idempotencyKey?: string | undefined
}

export type AsyncOptions = {
  /**
   * Do not wait until the items are in the queue: the service puts them into its inbox, if it has one, and
   * applies them in order, once. The answer then has a `messageId` and no ids.
   */
  readonly respondAsync?: boolean | undefined
}

/** What an item is pushed with. */
export type ItemOptions = {
  readonly priority?: number | undefined
  /** No pop returns it once this many seconds have passed since the push: an integer, up to five years. */
  readonly expiresInSeconds?: number | undefined
  /** The same as a time; a number is in milliseconds, as `Date.now()` is. One of the two. */
  readonly expiresAt?: Date | number | undefined
  /** It joins its queue so many seconds after the push: up to five years. */
  readonly delaySeconds?: number | undefined
  /** The same as a time, in milliseconds where it is a number; a time in the past means now. */
  readonly deliverAt?: Date | number | undefined
}

export type PushOptions = CallOptions & KeyOptions & AsyncOptions & ItemOptions

export type PushItem<T> = ItemOptions & { readonly item: T | RawJson }

/** What is scheduled, a page at a time; times in milliseconds where they are numbers. */
export type ScheduledOptions = CallOptions & {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly from?: Date | number | undefined
  readonly to?: Date | number | undefined
}

export type PopOptions = CallOptions &
  /** Only with `requireAck`. Hardly dearer on an exclusive queue; competing consumers get in each other's way. */
  KeyOptions & {
    /** 1–100, default 1. */
    readonly count?: number | undefined
    /** Lock the items until they are acknowledged. Without it they are gone once the service answers. */
    readonly requireAck?: boolean | undefined
    /** @deprecated An older name of `requireAck`. */
    readonly ack?: boolean | undefined
    /** How long the lock lives: 1–300, default 30. */
    readonly ttlSeconds?: number | undefined
    /** Pass by live locks and take what is free. */
    readonly competing?: boolean | undefined
    /**
     * If there is nothing to pop, wait so long for something: 1–20 seconds, held by the service. If it holds
     * too many calls already, the client pauses and asks again.
     */
    readonly waitSeconds?: number | undefined
    /** A lock to acknowledge in the same request. */
    readonly acknowledge?: string | undefined
    /** How long to wait for a queue that somebody else has locked. Default 0. */
    readonly waitForLockMs?: number | undefined
    /** From then on the call makes no pause, but waits for an answer under way: `consume` stops so. */
    readonly hurry?: AbortSignal | undefined
  }

/** `ids`: some of the lock's items. Default all. */
export type SettleOptions = CallOptions & { readonly ids?: readonly string[] | undefined }

/** Released items come back at once, unless they are to wait. */
export type ReleaseOptions = SettleOptions & {
  /** How long the items wait: 0, the default, to 86,400. In an exclusive queue the others wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The others do not wait: until then pops pass by the items. Default false. */
  readonly overtake?: boolean | undefined
}

export type PeekOptions = CallOptions & {
  readonly priority?: number | undefined
  /** 1–100, default 20. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** The id of an item: the first page begins with it, or where it was. */
  readonly from?: string | undefined
  /** `newest` begins at the end and goes backwards. Default `oldest`. */
  readonly order?: 'oldest' | 'newest' | undefined
}

/** Where items go: another priority, another queue, another time. Each keeps what is not named. */
export type MoveOptions = CallOptions & {
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** Until when they are scheduled, those that wait as well. In milliseconds where it is a number. */
  readonly deliverAt?: Date | number | undefined
}

/** An earlier call with the same idempotency key had pushed; this one changed nothing. */
type Repeated = { readonly repeated?: true }

/** With `respondAsync`, where the service has an inbox: the message in it. */
type InInbox = { readonly messageId?: string }

export interface Queue<T = Json> {
  readonly id: string
  /** No id comes back if the push had a key, was repeated, and its items are long gone. */
  push(
    item: T | RawJson,
    options?: PushOptions,
  ): Promise<Repeated & InInbox & { readonly id?: string }>
  /** 1–1,000 items and 2.5 MiB: all of them, or none. */
  pushMany(
    items: readonly PushItem<T>[],
    options?: CallOptions & KeyOptions & AsyncOptions,
  ): Promise<
    Repeated &
      InInbox & {
        readonly itemsPushed: number
        readonly ids: readonly string[]
        /** In the inbox, to be pushed in a moment. */
        readonly itemsAccepted?: number
      }
  >
  pop(options?: PopOptions): Promise<Popped<T>>
  acknowledge(
    lockId: string,
    options?: SettleOptions,
  ): Promise<{ readonly itemsAcknowledged: number }>
  /** Up to 100 locks; each has a result of its own, and those refused throw nothing. */
  acknowledgeMany(
    lockIds: readonly string[],
    options?: CallOptions,
  ): Promise<readonly AcknowledgeResult[]>
  /** The lock ends `ttlSeconds` from now. */
  extend(lockId: string, ttlSeconds: number, options?: CallOptions): Promise<ExtendedLock>
  /** The items are back at the front, at once or after `delaySeconds`. */
  release(lockId: string, options?: ReleaseOptions): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    lockId: string,
    options?: SettleOptions & { readonly reason?: string | undefined },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
  /** `oldest`: also tell when the oldest item was pushed if that takes a read of each priority. */
  inspect(
    options?: CallOptions & {
      readonly consistent?: boolean | undefined
      readonly oldest?: boolean | undefined
    },
  ): Promise<QueueState>
  /** A page of the next items, without taking them. */
  peek(options?: PeekOptions): Promise<Page<T>>
  /** Items for later, in the order of time. */
  scheduled(options?: ScheduledOptions): Promise<ScheduledPage<T>>
  /** All items, a page at a time, without taking them. */
  items(options?: PeekOptions): AsyncIterable<PeekedItem<T>>
  configuration(options?: CallOptions): Promise<Configuration>
  configure(change: ConfigurationChange, options?: MatchOptions): Promise<Configuration>
  /** Takes its own settings away; answers what applies then: those of its prefix, or the default. */
  unconfigure(options?: MatchOptions): Promise<Configuration>
  /**
   * Takes back up to 100 items that wait or are scheduled, in the order of the ids. After a lost answer another try
   * says `gone` of those that the first has cancelled.
   */
  cancel(ids: readonly string[], options?: CallOptions): Promise<readonly CancelResult[]>
  /**
   * Moves up to 100 items that wait to the end of another lane, in their order, changes where scheduled ones join, or
   * puts both off to a time; they get new ids.
   */
  move(ids: readonly string[], options: MoveOptions): Promise<readonly MoveResult[]>
  /** What PushPop pushes to the queue by the clock. */
  readonly schedules: Schedules<T>
  /** `ids`: these items and no others. */
  purge(
    options?: CallOptions & {
      readonly priority?: number | undefined
      readonly ids?: readonly string[] | undefined
    },
  ): Promise<{ readonly itemsPurged: number }>
  /** On a dead-letter queue. */
  redrive(
    options?: CallOptions & {
      readonly limit?: number | undefined
      readonly ids?: readonly string[] | undefined
    },
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
  /** Works the queue until its signal is aborted. */
  consume(handler: Handler<T>, options?: ConsumeOptions<T>): Promise<Consumed>
}

export type ExtendedLock = {
  readonly lockId: string
  readonly expiresAtMs: number
  readonly ttlSeconds: number
}

export type { Item }
