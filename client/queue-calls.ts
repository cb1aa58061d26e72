// The verbs of a queue as HTTP calls: pops, settings, and those of `tabled-calls.ts`; not pushes (`pushing.ts`). And the settings of prefixes, which apply to
// queues without their own.

import { ID_RULE } from '../shared/bounds.ts'
import { present, snakeCased } from '../shared/wire.ts'
import type {
  ConfigureAnswer,
  ConfigureQueuePatternsAnswer,
  PopAnswer,
  QueuePatternsAnswer,
} from './api-types.ts'
import { isQueueLocked, PushPopError } from './errors.ts'
import type { CallOptions, KeyOptions, MatchOptions, Queue } from './queue.ts'
import { tabledCalls } from './tabled-calls.ts'
import { type Answered, type Call, interrupted, matchOf, type Send } from './transport.ts'
import {
  type ConfigurationChange,
  configurationOf,
  configureBodyOf,
  type Popped,
  poppedOf,
  type View,
  viewOf,
} from './views.ts'

type Request = Omit<Call, 'verb' | 'at'>

type Pushes = 'push' | 'pushMany'

export function queueCalls<T>(
  send: Send,
  id: string,
): Omit<Queue<T>, 'consume' | 'items' | 'schedules' | Pushes> {
  const at = queueAt(id)
  return {
    id,
    ...tabledCalls<T>(send, at),
    async pop(options = {}) {
      const { count, requireAck, ttlSeconds, competing, acknowledge } = options
      const { waitForLockMs, waitSeconds, hurry } = options
      const key = keyOf(options)
      const once = async (wait_seconds: number | undefined, isFirst = true): Promise<Asked<T>> => {
        const settles = isFirst && acknowledge !== undefined
        const { body, text, retryAfterMs } = await send({
          verb: 'pop',
          at,
          query: {
            count,
            require_ack: requireAck,
            ttl_seconds: ttlSeconds,
            allow_competing_consumers: competing,
            acknowledge: settles ? acknowledge : undefined,
            wait_seconds,
          },
          heldMs: (wait_seconds ?? 0) * 1_000,
          ...key,
          holdsLock: settles,
          waitForLockMs,
          hurry,
        })
        return { popped: poppedOf<T>(body as PopAnswer, text), retryAfterMs }
      }
      if (waitSeconds === undefined) return (await once(undefined)).popped
      return waitForItems({ waitSeconds, signal: options.signal, hurry }, once)
    },
    async configure(change, options = {}) {
      const { body, etag } = await send({
        verb: 'configure',
        at,
        body: JSON.stringify(configureBodyOf(change)),
        ...matchOf(options),
      })
      return configurationOf(body as ConfigureAnswer, etag)
    },
  }
}

/** The answer to one request. */
type Asked<T> = {
  readonly popped: Popped<T>
  /** Set if the call should have waited, but too many others do: when to come back. */
  readonly retryAfterMs: number | undefined
}

type Wait = {
  readonly waitSeconds: number
  readonly signal?: AbortSignal | undefined
  readonly hurry?: AbortSignal | undefined
}

/**
 * If the service cannot let a pop wait, the client asks again after the pause that the service names, and once more at
 * the end. So the call waits as long as its caller wants, and a loop around it is no busy loop.
 */
async function waitForItems<T>(
  { waitSeconds, signal, hurry }: Wait,
  ask: (waitSeconds: number | undefined, isFirst: boolean) => Promise<Asked<T>>,
): Promise<Popped<T>> {
  const untilMs = performance.now() + waitSeconds * 1_000
  let { popped, retryAfterMs } = await ask(waitSeconds, true)
  const { itemsAcknowledged } = popped
  while (retryAfterMs !== undefined) {
    const leftMs = untilMs - performance.now()
    if (leftMs <= 0 || hurry?.aborted) break
    await interrupted(Math.min(leftMs, retryAfterMs), signal, hurry)
    if (hurry?.aborted && !signal?.aborted) break
    const seconds = Math.floor((untilMs - performance.now()) / 1_000)
    try {
      const asked = await ask(seconds > 0 ? seconds : undefined, false)
      popped = asked.popped
      retryAfterMs = asked.retryAfterMs
    } catch (error) {
      if (itemsAcknowledged === undefined || !(error instanceof PushPopError)) throw error
      // The first request has acknowledged a lock, so this error must not mean "nothing was changed".
      if (!isQueueLocked(error) || error.outcome === 'unknown') {
        throw Object.assign(error, { outcome: 'unknown' })
      }
      break
    }
  }
  return itemsAcknowledged === undefined ? popped : { ...popped, itemsAcknowledged }
}

/** The service checks ids. We refuse only those that would not reach it, because they change the address. */
export function queueAt(id: string): { readonly id: string } {
  if (isSegment(id)) return { id }
  throw noQueueId(id, 'id')
}

/** Ids as one parameter. A comma within an id would make it two. */
export function idsOf(ids: readonly string[]): string {
  for (const id of ids) if (!isSegment(id) || id.includes(',')) throw noQueueId(id, 'ids')
  return ids.join(',')
}

const noQueueId = (id: unknown, field: string): PushPopError =>
  new PushPopError(
    'INVALID_QUEUE_ID',
    `A queue id must be ${ID_RULE}, and this one is ${shown(id)}`,
    { field },
  )

/** Not text, or text that changes the address: a call with it would go to another queue. */
export const isSegment = (id: unknown): id is string =>
  typeof id === 'string' && id !== '' && id !== '.' && id !== '..'

export const shown = (id: unknown): string =>
  typeof id === 'string'
    ? JSON.stringify(id)
    : `${id === null || id === undefined ? '' : typeof id} ${String(id)}`.trim()

function keyOf({ idempotent, idempotencyKey, signal }: KeyOptions & CallOptions): Request {
  const key = idempotencyKey ?? (idempotent ? newKey() : undefined)
  return key === undefined
    ? { signal }
    : { signal, headers: { 'idempotency-key': key }, isRepeatable: true }
}

/** Does not use `crypto.randomUUID`, which pages have only under https. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export type QueuePattern<S = QueueSettings> = { readonly prefix: string; readonly settings: S }

export type QueueSettings = Omit<View<QueuePatternsAnswer['patterns'][number]>, 'prefix'>

/** Absent settings have their defaults. */
export type QueueSettingsInput = Omit<ConfigurationChange, 'source'>

export type QueuePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly QueuePattern[]
  /** For `ifMatch`. */
  readonly etag?: string
}

export interface QueuePatternVerbs {
  /** The settings of prefixes. */
  queuePatterns(options?: CallOptions): Promise<QueuePatterns>
  /** Replaces them all. */
  configureQueuePatterns(
    patterns: readonly QueuePattern<QueueSettingsInput>[],
    options?: MatchOptions,
  ): Promise<QueuePatterns>
}

/** The answers have the API's own names. The command line prints these. */
export const queuePatternRequests = (send: Send) => ({
  patterns: (options: CallOptions = {}) =>
    send({ verb: 'patterns', signal: options.signal }) as Promise<Answered<QueuePatternsAnswer>>,
  configurePatterns: (patterns: readonly unknown[], options: MatchOptions = {}) =>
    send({
      verb: 'configurePatterns',
      body: JSON.stringify({ patterns }),
      ...matchOf(options),
    }) as Promise<Answered<ConfigureQueuePatternsAnswer>>,
})

/** In the API a pattern's settings stand beside its prefix. */
export const patternBodies = (patterns: readonly QueuePattern<object>[]) =>
  patterns.map(({ prefix, settings }) => ({ prefix, ...snakeCased(settings) }))

export function queuePatternsOf(send: Send): QueuePatternVerbs {
  const { patterns, configurePatterns } = queuePatternRequests(send)
  return {
    queuePatterns: async (options) => viewed(await patterns(options)),
    async configureQueuePatterns(inputs, options) {
      return viewed(await configurePatterns(patternBodies(inputs), options))
    },
  }
}

const viewed = ({ body, etag }: Answered<QueuePatternsAnswer>): QueuePatterns =>
  present({
    patterns: body.patterns.map(({ prefix, ...settings }) => ({
      prefix,
      settings: viewOf(settings) as QueueSettings,
    })),
    etag,
  })
