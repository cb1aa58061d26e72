// What a user of the client sees: a queue's verbs, their options, and the work of `consume`. Types alone; the
// answers' are in `views.ts`.

import type { Given, GivenName } from '../shared/item-fields.ts'
import type { LingerOptions } from '../shared/linger.ts'
import type { AgainOptions } from '../shared/worker/retries.ts'
import type { SchedulesAnswer } from './api-types.ts'
import type { Auth } from './auth.ts'
import type { PushPopError } from './errors.ts'
import type { RawJson } from './json.ts'
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
  View,
} from './views.ts'

/**
 * Does the work for one item. If it throws, the item goes back to the queue, and with `retry` it comes again later.
 */
export type Handler<T> = (item: Item<T>, context: HandlerContext) => unknown

export type HandlerContext = {
  /** Aborted when the lock is lost or the grace of a stop is over: any further work is in vain. */
  readonly signal: AbortSignal
  readonly lockId: string
  /** Once the handler returns or throws, the item goes to the dead-letter queue instead. */
  deadLetter(reason: string): void
}

export type ConsumeOptions<T = unknown> = {
  /** How many handlers run at once. More than one needs competing consumers, and keeps no order. Default 1. */
  readonly concurrency?: number | undefined
  /** Items per request and lock, worked one after the other: 1–100. Default 1. */
  readonly batchSize?: number | undefined
  /** How long a lock lives if this process dies. We extend it while handlers work. Default 30. */
  readonly lockTtlSeconds?: number | undefined
  /** Release failed items with a delay. Default: at once, with pauses between failures. */
  readonly retry?: AgainOptions | undefined
  /** Share the queue with other consumers. Default: true if `concurrency` is more than one. */
  readonly competing?: boolean | undefined
  /** Stops the work: takes nothing more, lets handlers finish, gives back the rest. */
  readonly signal?: AbortSignal | undefined
  /** How long handlers may go on after that. Default: as long as they like. */
  readonly graceMs?: number | undefined
  /** The longest pause between looks at an empty queue. Default 5,000. */
  readonly idleMsMax?: number | undefined
  /** Called for every failure; none of them ends the work. Default: writes a line to the console. */
  readonly onError?: ((failure: ConsumeFailure<T>) => void) | undefined
}

export type ConsumeFailure<T = unknown> =
  /** The handler threw. The item goes back, or to the dead letters if the handler asked for that. */
  | { readonly kind: 'handler'; readonly item: Item<T>; readonly error: unknown }
  /** The lock ended before its items were settled: they are delivered again. */
  | {
      readonly kind: 'lock-lost'
      readonly items: readonly Item<T>[]
      readonly error: PushPopError
    }
  /** A request failed for now; we try again. */
  | { readonly kind: 'request'; readonly error: PushPopError }

/** How many items had which outcome. */
export type Consumed = {
  readonly acknowledged: number
  readonly released: number
  readonly deadLettered: number
}

/** Any JSON value: the default type of a queue's items. */
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

/** With a key, repeats of a request have only one effect. A push with a key costs one and a half times as much. */
export type KeyOptions = {
  /** Makes a key, so that the client may send this call again if its answer is lost. */
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

/** Options of a pushed item. A time is a Date, or a number in milliseconds like `Date.now()`. */
export type ItemOptions = Given<Exclude<GivenName, 'expiresAtMs' | 'deliverAtMs'>> & {
  /** From then on, no pop returns the item. Give either this or `expiresInSeconds`. */
  readonly expiresAt?: Date | number | undefined
  /** The item joins its queue then; a time in the past means now. Give either this or `delaySeconds`. */
  readonly deliverAt?: Date | number | undefined
}

export type PushOptions = CallOptions & KeyOptions & AsyncOptions & ItemOptions

export type PushItem<T> = ItemOptions & { readonly item: T | RawJson }

/** Which scheduled items, a page at a time. Numbers as times are in milliseconds. */
export type ScheduledOptions = CallOptions & {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly from?: Date | number | undefined
  readonly to?: Date | number | undefined
}

export type PopOptions = CallOptions &
  /** Keys need `requireAck`. On an exclusive queue they cost little; competing consumers delay each other with them. */
  KeyOptions & {
    /** 1–100, default 1. */
    readonly count?: number | undefined
    /** Lock the items until you acknowledge them. Without this, they are gone once the service answers. */
    readonly requireAck?: boolean | undefined
    /** How long the lock lives: 1–300, default 30. */
    readonly ttlSeconds?: number | undefined
    /** Take free items beside live locks. */
    readonly competing?: boolean | undefined
    /**
     * If there is nothing to pop, wait this long for something: 1–20 seconds, in the service. If too many calls
     * wait there already, the client pauses and asks again.
     */
    readonly waitSeconds?: number | undefined
    /** A lock to acknowledge in the same request. */
    readonly acknowledge?: string | undefined
    /** How long to wait while another consumer has locked the queue. Default 0. */
    readonly waitForLockMs?: number | undefined
    /** After this signal, the call makes no more pauses, but waits for an answer under way. `consume` stops so. */
    readonly hurry?: AbortSignal | undefined
  }

/** `ids`: some of the lock's items. Default all. */
export type SettleOptions = CallOptions & { readonly ids?: readonly string[] | undefined }

/** Released items come back at once, unless you set a delay. */
export type ReleaseOptions = SettleOptions & {
  /** How long the items wait: 0 (the default) to 86,400. In an exclusive queue, the others wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The others do not wait: until then, pops pass these items. Default false. */
  readonly overtake?: boolean | undefined
}

export type PeekOptions = CallOptions & {
  readonly priority?: number | undefined
  /** 1–100, default 20. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** The id of an item: the first page begins with it, or at its former place. */
  readonly from?: string | undefined
  /** `newest` begins at the end and goes backwards. Default `oldest`. */
  readonly order?: 'oldest' | 'newest' | undefined
}

/** Where items go: another priority, queue or time. What you leave out stays as it is. */
export type MoveOptions = CallOptions & {
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** When they become due; waiting items are scheduled for then, too. A number is in milliseconds. */
  readonly deliverAt?: Date | number | undefined
}

/** An earlier call with the same idempotency key had pushed; this one changed nothing. */
type Repeated = { readonly repeated?: true }

/** With `respondAsync`, if the service has an inbox: the id of the message in it. */
type InInbox = { readonly messageId?: string }

export interface Queue<T = Json> {
  readonly id: string
  /** No id comes back if the push had a key, was repeated, and its items are long gone. */
  push(
    item: T | RawJson,
    options?: PushOptions,
  ): Promise<Repeated & InInbox & { readonly id?: string }>
  /** 1–1,000 items of up to 100 priorities and 2.5 MiB: all of them, or none. */
  pushMany(
    items: readonly PushItem<T>[],
    options?: CallOptions & KeyOptions & AsyncOptions,
  ): Promise<
    Repeated &
      InInbox & {
        readonly itemsPushed: number
        readonly ids: readonly string[]
        /** Items in the inbox, which will be pushed in a moment. */
        readonly itemsAccepted?: number
      }
  >
  pop(options?: PopOptions): Promise<Popped<T>>
  acknowledge(
    lockId: string,
    options?: SettleOptions,
  ): Promise<{ readonly itemsAcknowledged: number }>
  /** Up to 100 locks. Each has its own result, and a refused one does not throw. */
  acknowledgeMany(
    lockIds: readonly string[],
    options?: CallOptions,
  ): Promise<readonly AcknowledgeResult[]>
  /** The lock ends `ttlSeconds` from now. */
  extend(lockId: string, ttlSeconds: number, options?: CallOptions): Promise<ExtendedLock>
  /** The items come back to the front, at once or after `delaySeconds`. */
  release(lockId: string, options?: ReleaseOptions): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    lockId: string,
    options?: SettleOptions & { readonly reason?: string | undefined },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
  /** `oldest`: also returns when the oldest item was pushed, even if that takes a read of each priority. */
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
  /** Removes its own settings; returns those that apply then: those of its prefix, or the defaults. */
  unconfigure(options?: MatchOptions): Promise<Configuration>
  /**
   * Takes back up to 100 waiting or scheduled items; the results have the order of the ids. After a lost answer, a
   * second try answers `gone` for items that the first one has cancelled.
   */
  cancel(ids: readonly string[], options?: CallOptions): Promise<readonly CancelResult[]>
  /**
   * Moves up to 100 waiting items to the end of another lane, in their order, changes which lane scheduled ones will
   * join, or puts both off to a time. The items get new ids.
   */
  move(ids: readonly string[], options: MoveOptions): Promise<readonly MoveResult[]>
  /** What PushPop pushes to the queue by the clock. */
  readonly schedules: Schedules<T>
  /** `ids`: only these items. */
  purge(
    options?: CallOptions & {
      readonly priority?: number | undefined
      readonly ids?: readonly string[] | undefined
    },
  ): Promise<{ readonly itemsPurged: number }>
  /** Only for a dead-letter queue. */
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

export type BulkOptions = {
  /** Queues whose ids begin with this; `''` means all. */
  readonly prefix: string
  /** Queues at a time. Default 4: a new AWS account runs ten functions at once. */
  readonly atOnce?: number | undefined
  /** After this signal, starts on no further queue; those under way finish. */
  readonly signal?: AbortSignal | undefined
}

export type ClientOptions = {
  /** The `Url` that the deployment prints, or http://localhost:8000. */
  readonly url: string | URL
  readonly auth?: Auth | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** How long to wait for one answer. Default 31,000. */
  readonly timeoutMs?: number | undefined
  readonly retry?: RetryOptions | undefined
  /** Sends pushes to a queue that come at about the same time as one bulk push. Default: off. */
  readonly linger?: boolean | LingerOptions | undefined
}

export type RetryOptions = {
  /** How often the client sends one call at most; 1 means never again. Default 5. */
  readonly attemptsMax?: number | undefined
  /** The last attempt begins within this time after the first. Default 60,000. */
  readonly totalMs?: number | undefined
  /** Called before each pause that precedes another attempt. */
  readonly onRetry?: ((error: PushPopError, pauseMs: number) => void) | undefined
}

export interface Schedules<T> {
  /** All of them, by name, without their items. */
  list(options?: CallOptions): Promise<readonly Schedule[]>
  get(name: string, options?: CallOptions): Promise<Schedule & { readonly item: T }>
  /** Makes it, or replaces it as a whole. */
  put(
    name: string,
    schedule: ScheduleInput<T>,
    options?: MatchOptions,
  ): Promise<Schedule & { readonly item: T }>
  /** Returns whether there was one. */
  delete(name: string, options?: MatchOptions): Promise<{ readonly deleted: boolean }>
  /** Pushes its item now, once. */
  run(name: string, options?: CallOptions): Promise<{ readonly id: string }>
  pause(name: string, options?: CallOptions): Promise<Schedule>
  resume(name: string, options?: CallOptions): Promise<Schedule>
}

export type Schedule = View<SchedulesAnswer['schedules'][number]>

/** Either `cron` or `everySeconds`. */
export type ScheduleInput<T> = {
  readonly item: T | RawJson
  readonly priority?: number | undefined
  /** Minute, hour, day of the month, month, day of the week. */
  readonly cron?: string | undefined
  /** For `cron`: an IANA name. Default `UTC`. */
  readonly timeZone?: string | undefined
  /** At least 10. */
  readonly everySeconds?: number | undefined
  /** Not due before this time: whole seconds; a number is in milliseconds. */
  readonly startsAt?: Date | number | undefined
  /** Not due after this time, likewise. */
  readonly endsAt?: Date | number | undefined
  /** What happens to occurrences that were missed. Default `one`. */
  readonly missed?: 'skip' | 'one' | 'all' | undefined
}
