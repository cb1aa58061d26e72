// `pushpop/client`: PushPop over HTTP, for Node 20 and later and for browsers, on fetch alone.

import type { HealthAnswer, ListAnswer } from './api-types.ts'
import { type ClientOptions, connect } from './connect.ts'
import type { CallOptions, Json, Queue } from './queue.ts'
import { queueCalls } from './queue-calls.ts'
import { type RateLimit, type RatePatternVerbs, rateOf, ratePatternsOf } from './rate/limit.ts'
import type { Send } from './transport.ts'
import type { QueueSummary } from './views.ts'
import { wholeQueue } from './whole-queue.ts'

export type QueuesOptions = CallOptions & {
  readonly prefix?: string | undefined
  /** Queues a page, 1–100. Default 100. */
  readonly pageSize?: number | undefined
}

export interface Client extends RatePatternVerbs {
  readonly url: string
  /** `queue<Order>('orders')` says what its items are; nothing checks it. */
  queue<T = Json>(id: string): Queue<T>
  /** All queues by id, a page at a time. */
  queues(options?: QueuesOptions): AsyncIterable<QueueSummary>
  /** The rate limit of a key. */
  rate(key: string): RateLimit
  health(options?: CallOptions): Promise<{ readonly status: 'ok' }>
}

const PAGE_SIZE = 100

export function createClient(options: ClientOptions): Client {
  const { base, send } = connect(options)
  return {
    url: String(base),
    queue: <T = Json>(id: string) => wholeQueue<T>(queueCalls<T>(send, id)),
    queues: (request = {}) => allQueues(send, request),
    rate: (key) => rateOf(send, key),
    ...ratePatternsOf(send),
    async health({ signal } = {}) {
      const { body } = await send({ verb: 'health', method: 'GET', path: '/healthz', signal })
      return body as HealthAnswer
    },
  }
}

async function* allQueues(send: Send, options: QueuesOptions): AsyncGenerator<QueueSummary> {
  const { prefix, pageSize: limit = PAGE_SIZE, signal } = options
  let cursor: string | undefined
  do {
    const query = { prefix, limit, cursor }
    const { body } = await send({ verb: 'queues', method: 'GET', path: '/queues', query, signal })
    const page = body as ListAnswer
    yield* page.queues
    cursor = page.cursor
  } while (cursor !== undefined)
}

export type { Auth, Provided } from './auth.ts'
export { type BulkOptions, type BulkResult, purgeQueues, redriveQueues } from './bulk.ts'
export type { ClientOptions } from './connect.ts'
export type {
  Consumed,
  ConsumeFailure,
  ConsumeOptions,
  Handler,
  HandlerContext,
} from './consume/options.ts'
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
export type {
  CallOptions,
  ExtendedLock,
  Json,
  KeyOptions,
  MatchOptions,
  PeekOptions,
  PopOptions,
  PushItem,
  PushOptions,
  Queue,
  SettleOptions,
} from './queue.ts'
export type { DecideOptions, RateLimit, RateSettingsInput } from './rate/limit.ts'
export type {
  Allowed,
  Denied,
  GivenUp,
  Promised,
  RateConfiguration,
  RateDecision,
  RatePattern,
  RatePatterns,
  RateSettings,
  RateState,
  RateWindow,
  TicketState,
} from './rate/views.ts'
export type { Waited, WaitOptions } from './rate/wait.ts'
export { type RawJson, rawJson } from './raw-json.ts'
export type { RetryOptions } from './retry.ts'
export type { AwsCredentials } from './sigv4.ts'
export type {
  AcknowledgeResult,
  Configuration,
  ConfigurationChange,
  Item,
  Lock,
  Page,
  PeekedItem,
  Popped,
  QueueLimit,
  QueueState,
  QueueSummary,
} from './views.ts'
