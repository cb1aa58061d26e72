// A service that answers from a script, and remembers what it was asked.

import { afterEach, beforeEach, vi } from 'vitest'
import { type ClientOptions, createClient } from '../../client/index.ts'

export type Asked = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string | undefined
}

export type Reply = (asked: Asked, signal: AbortSignal) => Response | Promise<Response>

export type Scripted = { readonly fetch: typeof fetch; readonly asked: Asked[] }

/** Answers with the replies in order; the last one stays. */
export function scripted(...replies: Reply[]): Scripted {
  const asked: Asked[] = []
  return {
    asked,
    fetch: async (input, init = {}) => {
      const { method = 'GET', headers, body, signal } = init
      const one = {
        method,
        url: new URL(String(input)),
        headers: new Headers(headers),
        body: typeof body === 'string' ? body : undefined,
      }
      asked.push(one)
      const reply = replies[Math.min(asked.length, replies.length) - 1] as Reply
      return reply(one, signal ?? new AbortController().signal)
    },
  }
}

/** A client of such a service. */
export function clientOf(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  const { fetch, asked } = scripted(...replies)
  const client = createClient({ url: 'http://service/stage/', fetch, ...options })
  return { client, queue: client.queue<unknown>('q'), limit: client.rate('k'), asked }
}

export const answers =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  () =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })

export const refuses = (status: number, code: string, more: object = {}, retryAfter?: number) =>
  answers(
    status,
    {
      success: false,
      error_code: code,
      message: `It is ${code}`,
      retryable: [423, 429, 503].includes(status),
      request_id: 'r1',
      ...more,
    },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  )

export const breaks: Reply = () => {
  throw new TypeError('fetch failed')
}

export const hangs: Reply = (_, signal) =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })

const details = { id: 'i1', priority: 0, pushed_at: 1709139275.123, deliveries: 1 }

/** One body that is a fair answer to every verb. */
export const succeeds = answers(200, {
  items: [],
  details: [],
  count: 0,
  success: true,
  message: 'm',
  ids: ['i1'],
  items_pushed: 1,
  items_acknowledged: 1,
  items_released: 1,
  items_dead_lettered: 1,
  dead_letter_queue: 'q-deadletter',
  items_purged: 1,
  items_redriven: 1,
  items_left: 0,
  lock_id: 'AAAAAAAAAAA',
  lock_expires_at: 1709139275.5,
  ttl_seconds: 30,
  results: [],
  queues: [],
  schedules: [],
  deleted: true,
  status: 'ok',
  id: 'q',
  version: 1,
  locked_count: 0,
  dead_count: 0,
  oldest_pushed_at: null,
  priorities: [],
  locks: [],
  configuration: { segment_size: 1, buffer_segments: 1, max_deliveries: null, capacity: null },
  segment_size: 1,
  buffer_segments: 1,
  max_deliveries: null,
  capacity: null,
  allowed: true,
  remaining: 1,
  window: { start: 1, end: 2 },
  waited_ms: 0,
  shards: [],
  patterns: [],
  state: 'ready',
  not_before: 1,
  good_until: 2,
  given_up: true,
  name: 's',
  max_requests: 1,
})

export const pops = (text: string, more: object = {}): Reply =>
  answers(
    200,
    `{"items":[${text}],"count":1,"details":[${JSON.stringify(details)}]${Object.entries(more)
      .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
      .join('')}}`,
  )

/** Time that passes when a test says so. */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
}
