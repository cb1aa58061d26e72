// `pushpop/client`: PushPop over HTTP, for Node 20 and later and for browsers, on fetch alone.

import { batchingOf } from '../shared/linger.ts'
import { checkOptions, type Names, refusingUnknown } from '../shared/options.ts'
import type { ConsumeManyOptions, Which } from '../shared/worker/which-queues.ts'
import type { HealthAnswer, ListAnswer } from './api-types.ts'
import { connect } from './connect.ts'
import type { BatchHandler } from './consume.ts'
import { isPushPopError } from './errors.ts'
import {
  call,
  optional,
  peek,
  queuePatternRules,
  queueRules,
  ratePatternRules,
  rateRules,
  scheduleRules,
} from './option-names.ts'
import { pushCalls, pusherOf } from './pushing.ts'
import type { CallOptions, ClientOptions, Consumed, Json, PeekOptions, Queue } from './queue.ts'
import {
  idsOf,
  type QueuePatternVerbs,
  queueAt,
  queueCalls,
  queuePatternsOf,
} from './queue-calls.ts'
import { type RateLimit, type RatePatternVerbs, rateOf, ratePatternsOf } from './rate.ts'
import { schedulesOf } from './schedules.ts'
import type { Send } from './transport.ts'
import { type QueueSummary, viewOf } from './views.ts'

export type { LingerOptions } from '../shared/linger.ts'
export type { AgainOptions, Duration } from '../shared/worker/retries.ts'
export type { ManyTrouble } from '../shared/worker/run.ts'
export type { ConsumeManyOptions, Which } from '../shared/worker/which-queues.ts'
export type { Auth, AwsCredentials, Provided } from './auth.ts'
export { type BulkResult, purgeQueues, redriveQueues } from './bulk.ts'
export type { BatchContext, BatchHandler, BatchResult } from './consume.ts'
export {
  type ClientErrorCode,
  type ErrorCode,
  isLockLost,
  isOutcomeUnknown,
  isPushPopError,
  isQueueLocked,
  PushPopError,
  type ServiceErrorCode,
} from './errors.ts'
export { type RawJson, rawJson } from './json.ts'
export type {
  AsyncOptions,
  BulkOptions,
  CallOptions,
  ClientOptions,
  Consumed,
  ConsumeFailure,
  ConsumeOptions,
  ExtendedLock,
  Handler,
  HandlerContext,
  ItemOptions,
  Json,
  KeyOptions,
  MatchOptions,
  MoveOptions,
  PeekOptions,
  PopOptions,
  PushItem,
  PushOptions,
  Queue,
  ReleaseOptions,
  RetryOptions,
  Schedule,
  ScheduledOptions,
  ScheduleInput,
  Schedules,
  SettleOptions,
} from './queue.ts'
export type {
  QueuePattern,
  QueuePatterns,
  QueueSettings,
  QueueSettingsInput,
} from './queue-calls.ts'
export type {
  Allowed,
  DecideOptions,
  Denied,
  GivenUp,
  Promised,
  RateConfiguration,
  RateDecision,
  RateLimit,
  RatePattern,
  RatePatterns,
  RateSettings,
  RateSettingsInput,
  RateState,
  RateWindow,
  TicketState,
  Waited,
  WaitOptions,
} from './rate.ts'
export type {
  AcknowledgeResult,
  CancelResult,
  Configuration,
  ConfigurationChange,
  Item,
  LaneState,
  Lock,
  MoveResult,
  Page,
  PeekedItem,
  Popped,
  QueueLimit,
  QueueState,
  QueueSummary,
  ScheduledItem,
  ScheduledPage,
} from './views.ts'

export type QueuesOptions = CallOptions & {
  readonly prefix?: string | undefined
  /** Only these, up to 100, in this order, whether or not they exist. */
  readonly ids?: readonly string[] | undefined
  /** Also returns how many items are locked, dead and scheduled, and each priority's count. */
  readonly detail?: boolean | undefined
  /** Queues per page, 1–100. Default 100. */
  readonly pageSize?: number | undefined
  /** Ask for a page that fails in smaller parts, down to one queue, so that it hides no queues behind it. */
  readonly smallerPages?: boolean | undefined
}

const queuesNames: Names<QueuesOptions> = {
  prefix: 0,
  ids: 0,
  detail: 0,
  pageSize: 0,
  smallerPages: 0,
  signal: 0,
}

export interface Client extends RatePatternVerbs, QueuePatternVerbs {
  readonly url: string
  /** `queue<Order>('orders')` states the type of its items; nothing checks it. */
  queue<T = Json>(id: string): Queue<T>
  /** All queues by id, a page at a time. */
  queues(options?: QueuesOptions): AsyncIterable<QueueSummary>
  /**
   * Works all queues with a prefix, or the named ones, until its signal is aborted: a few at once, in turns, each
   * queue in its order. It also works queues that come later.
   */
  consumeMany<T = Json>(
    which: Which,
    handler: BatchHandler<T>,
    options?: ConsumeManyOptions,
  ): Promise<Consumed>
  /** The rate limit of a key. */
  rate(key: string): RateLimit
  health(options?: CallOptions): Promise<{ readonly status: 'ok' }>
  /** Sends the pushes that linger, and resolves when all of them have their answers; it never rejects. */
  flush(): Promise<void>
}

const clientRules = { ...queuePatternRules, ...ratePatternRules, health: optional(0, call) }

const PAGE_SIZE = 100
/** From 100 queues to one in four steps. */
const SMALLER = 4

export function createClient(options: ClientOptions): Client {
  const { base, send } = connect(options)
  const pusher = pusherOf(send, batchingOf(options.linger))
  const client: Client = {
    url: String(base),
    queue: <T = Json>(id: string) => {
      const schedules = refusingUnknown(schedulesOf<T>(send, queueAt(id)), scheduleRules)
      const verbs = { ...queueCalls<T>(send, id), ...pushCalls<T>(pusher, id), schedules }
      return wholeQueue<T>(refusingUnknown(verbs, queueRules))
    },
    queues: (request = {}) => allQueues(send, request),
    consumeMany: async (which, handler, request) => {
      // The work decides when to try again, and looks at other queues meanwhile.
      const { consumeMany } = await import('./consume.ts')
      const once = connect({ ...options, retry: { ...options.retry, attemptsMax: 1 } })
      return consumeMany(once.send, which, handler, request)
    },
    rate: (key) => refusingUnknown(rateOf(send, key), rateRules),
    flush: pusher.flush,
    ...queuePatternsOf(send),
    ...ratePatternsOf(send),
    async health({ signal } = {}) {
      const { body } = await send({ verb: 'health', signal })
      return body as HealthAnswer
    },
  }
  return refusingUnknown(client, clientRules)
}

/** Every verb of a queue, and consume on top of them. */
function wholeQueue<T>(verbs: Omit<Queue<T>, 'consume' | 'items'>): Queue<T> {
  const queue: Queue<T> = {
    ...verbs,
    async *items(options: PeekOptions = {}) {
      checkOptions(options, peek)
      let cursor = options.cursor
      do {
        const page = await verbs.peek({ ...options, cursor })
        yield* page.items
        cursor = page.cursor
      } while (cursor !== undefined)
    },
    // Only callers who use it load it: a bundler can put it into a separate file.
    consume: async (handler, options) => {
      const { consume } = await import('./consume.ts')
      return consume(queue, handler, options)
    },
  }
  return queue
}

async function* allQueues(send: Send, options: QueuesOptions): AsyncGenerator<QueueSummary> {
  checkOptions(options, queuesNames)
  const { prefix, detail, signal } = options
  const ids = options.ids && idsOf(options.ids)
  const { pageSize = PAGE_SIZE } = options
  let limit = pageSize
  let cursor: string | undefined
  for (;;) {
    const query = { prefix, ids, detail, limit: ids === undefined ? limit : undefined, cursor }
    let page: ListAnswer
    try {
      const answer = await send({ verb: 'list', query, signal })
      page = answer.body as ListAnswer
    } catch (error) {
      // A page that always fails must not hide the queues behind it. One queue alone is listed without its count.
      if (!options.smallerPages || ids !== undefined || limit === 1) throw error
      if (!isTrouble(error)) throw error
      limit = Math.ceil(limit / SMALLER)
      continue
    }
    yield* page.queues.map(viewOf)
    limit = Math.min(pageSize, 2 * limit)
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

/** The service answered that it could not; without an answer a smaller page would do no better. */
const isTrouble = (error: unknown): boolean => isPushPopError(error) && (error.status ?? 0) >= 500
