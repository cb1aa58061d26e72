// The verbs of a queue as HTTP calls.

import { ID_RULE } from '../lambdas/foundation/shared/queue-id.ts'
import { camelCased } from '../lambdas/foundation/shared/wire-names.ts'
import type {
  AcknowledgeAnswer,
  BrowseAnswer,
  CancelAnswer,
  ConfigurationAnswer,
  ConfigureAnswer,
  DeadLetterAnswer,
  ExtendLockAnswer,
  InspectAnswer,
  MoveAnswer,
  PopAnswer,
  PurgeAnswer,
  RedriveAnswer,
  ReleaseAnswer,
  ScheduledAnswer,
  UnconfigureAnswer,
} from './api-types.ts'
import { PushPopError } from './errors.ts'
import type { CallOptions, KeyOptions, MatchOptions, Queue } from './queue.ts'
import type { Verb } from './retry.ts'
import { secondsOf } from './times.ts'
import type { Call, Send } from './transport.ts'
import {
  configurationOf,
  configureBodyOf,
  lockOf,
  pageOf,
  poppedOf,
  resultsOf,
  scheduledOf,
  stateOf,
} from './views.ts'
import { type Asked, waitForItems } from './wait-for-items.ts'

type Request = Omit<Call, 'verb' | 'method' | 'path'>

type Pushes = 'push' | 'pushMany'

export function queueCalls<T>(
  send: Send,
  id: string,
): Omit<Queue<T>, 'consume' | 'items' | 'schedules' | Pushes> {
  const path = pathOf(id)
  const post = (verb: Verb, action: string, request: Request) =>
    send({ verb, method: 'POST', path: `${path}/${action}`, ...request })
  const get = (verb: Verb, below: string, query: Call['query'] & {}, options: CallOptions) =>
    send({ verb, method: 'GET', path: `${path}${below}`, query, signal: options.signal })
  const settle = async <Body>(verb: Verb, action: string, fields: object, options: CallOptions) => {
    const body = JSON.stringify(fields)
    return (await post(verb, action, { body, signal: options.signal })).body as Body
  }

  return {
    id,
    async pop(options = {}) {
      const { count, ack, requireAck = ack, ttlSeconds, competing, acknowledge } = options
      const { waitForLockMs, waitSeconds, hurry } = options
      const key = keyOf(options)
      const ask = async (wait_seconds: number | undefined, isFirst = true): Promise<Asked<T>> => {
        const settles = isFirst && acknowledge !== undefined
        const { body, text, retryAfterMs } = await post('pop', 'pop', {
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
      if (waitSeconds === undefined) return (await ask(undefined)).popped
      return waitForItems({ waitSeconds, signal: options.signal, hurry }, ask)
    },
    async acknowledge(lock_id, { ids, ...options } = {}) {
      const body = await settle<AcknowledgeAnswer>(
        'acknowledge',
        'acknowledge',
        { lock_id, ids },
        options,
      )
      return { itemsAcknowledged: body.items_acknowledged }
    },
    async acknowledgeMany(lock_ids, options = {}) {
      return resultsOf(await settle('acknowledgeMany', 'acknowledge', { lock_ids }, options))
    },
    async extend(lock_id, ttl_seconds, options = {}) {
      const request = { lock_id, ttl_seconds }
      const body = await settle<ExtendLockAnswer>('extend', 'extend-lock', request, options)
      const { id: lockId, ...life } = lockOf(body)
      return { lockId, ...life }
    },
    async release(lock_id, { ids, delaySeconds: delay_seconds, overtake, ...options } = {}) {
      const request = { lock_id, ids, delay_seconds, overtake }
      const body = await settle<ReleaseAnswer>('release', 'release', request, options)
      return { itemsReleased: body.items_released }
    },
    async deadLetter(lock_id, { ids, reason, ...options } = {}) {
      const request = { lock_id, ids, reason }
      const body = await settle<DeadLetterAnswer>('deadLetter', 'dead-letter', request, options)
      return {
        itemsDeadLettered: body.items_dead_lettered,
        deadLetterQueue: body.dead_letter_queue,
      }
    },
    async inspect({ consistent, oldest, ...options } = {}) {
      const { body, etag } = await get('inspect', '', { consistent, oldest }, options)
      return stateOf(body as InspectAnswer, etag)
    },
    async peek({ priority, limit, cursor, from, order, ...options } = {}) {
      const query = { priority, limit, cursor, from, order }
      const { body, text } = await get('peek', '/items', query, options)
      return pageOf<T>(body as BrowseAnswer, text)
    },
    async scheduled({ limit, cursor, from, to, ...options } = {}) {
      const second = (field: string, time: Date | number | undefined) => {
        const seconds = secondsOf(field, time)
        return seconds === undefined ? undefined : Math.round(seconds)
      }
      const query = { limit, cursor, from: second('from', from), to: second('to', to) }
      const { body, text } = await get('scheduled', '/scheduled', query, options)
      return scheduledOf<T>(body as ScheduledAnswer, text)
    },
    async configuration(options = {}) {
      const { body, etag } = await get('configuration', '/config', {}, options)
      return configurationOf(body as ConfigurationAnswer, etag)
    },
    async configure(change, options = {}) {
      const { body, etag } = await send({
        verb: 'configure',
        method: 'PUT',
        path: `${path}/config`,
        body: JSON.stringify(configureBodyOf(change)),
        ...matchOf(options),
      })
      return configurationOf(body as ConfigureAnswer, etag)
    },
    async unconfigure(options = {}) {
      const { body, etag } = await send({
        verb: 'unconfigure',
        method: 'DELETE',
        path: `${path}/config`,
        ...matchOf(options),
      })
      return configurationOf(body as UnconfigureAnswer, etag)
    },
    async cancel(ids, options = {}) {
      return (await settle<CancelAnswer>('cancel', 'cancel', { ids }, options)).results
    },
    async move(ids, { priority, queue, deliverAt, ...options }) {
      const deliver_at = secondsOf('deliverAt', deliverAt)
      const request = { ids, priority, queue, deliver_at }
      const body = await settle<MoveAnswer>('move', 'move', request, options)
      return camelCased(body.results)
    },
    async purge({ priority, ids, ...options } = {}) {
      const body = await settle<PurgeAnswer>('purge', 'purge', { priority, ids }, options)
      return { itemsPurged: body.items_purged }
    },
    async redrive({ limit, ids, ...options } = {}) {
      const body = await settle<RedriveAnswer>('redrive', 'redrive', { limit, ids }, options)
      return { itemsRedriven: body.items_redriven, itemsLeft: body.items_left }
    },
  }
}

/** The service checks ids. We refuse only those that would not reach it, because they change the address. */
export function pathOf(id: string): string {
  if (isSegment(id)) return `/queue/${encodeURIComponent(id)}`
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

/** A revision makes a second copy of a change have no effect. */
export function matchOf(options: MatchOptions): Request {
  const { ifMatch, signal } = options
  return ifMatch === undefined
    ? { signal }
    : { signal, headers: { 'if-match': ifMatch }, isRepeatable: true }
}

/** Does not use `crypto.randomUUID`, which pages have only under https. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
