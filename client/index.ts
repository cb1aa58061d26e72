// `pushpop/client`: PushPop over HTTP, for Node 20 and later and for browsers, on fetch alone.

import type { HealthAnswer, ListAnswer } from './api-types.ts'
import { type Auth, authoriser } from './auth.ts'
import { type CallOptions, type Json, type Queue, queueOf } from './queue.ts'
import { queueCalls } from './queue-calls.ts'
import { type RetryOptions, retryPolicy } from './retry.ts'
import { type Send, sender } from './transport.ts'
import type { QueueSummary } from './views.ts'

export type ClientOptions = {
  /** The `Url` that the deployment prints, or http://localhost:8000. */
  readonly url: string | URL
  readonly auth?: Auth
  readonly fetch?: typeof globalThis.fetch
  /** For one answer. Default 31,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions
}

export type QueuesOptions = CallOptions & {
  readonly prefix?: string
  /** Queues a page, 1–100. Default 100. */
  readonly pageSize?: number
}

export interface Client {
  readonly url: string
  /** `queue<Order>('orders')` says what its items are; nothing checks it. */
  queue<T = Json>(id: string): Queue<T>
  /** All queues by id, a page at a time. */
  queues(options?: QueuesOptions): AsyncIterable<QueueSummary>
  health(options?: CallOptions): Promise<{ readonly status: 'ok' }>
}

/** A second more than the gateway waits for the service: what would come after it says so itself. */
const TIMEOUT_MS = 31_000
const PAGE_SIZE = 100

export function createClient(options: ClientOptions): Client {
  const base = new URL(options.url)
  const { auth = { kind: 'none' }, timeoutMs = TIMEOUT_MS } = options
  const send = sender({
    base,
    // Looked up for each call, so that whoever replaces it is heard.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    authorise: authoriser(auth, base, Date.now),
    timeoutMs,
    policy: retryPolicy(options.retry),
  })
  return {
    url: String(base),
    queue: <T = Json>(id: string) => queueOf<T>(queueCalls<T>(send, id)),
    queues: (request = {}) => allQueues(send, request),
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
  PeekOptions,
  PopOptions,
  PushItem,
  PushOptions,
  Queue,
  SettleOptions,
} from './queue.ts'
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
  QueueState,
  QueueSummary,
} from './views.ts'
