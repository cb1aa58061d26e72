// The verbs of a queue as HTTP calls.

import type {
  AcknowledgeAnswer,
  BrowseAnswer,
  ConfigurationAnswer,
  ConfigureAnswer,
  DeadLetterAnswer,
  ExtendLockAnswer,
  InspectAnswer,
  PopAnswer,
  PurgeAnswer,
  PushAnswer,
  RedriveAnswer,
  ReleaseAnswer,
} from './api-types.ts'
import { PushPopError } from './errors.ts'
import type { CallOptions, KeyOptions, Queue, SettleOptions } from './queue.ts'
import { textOf } from './raw-json.ts'
import type { Verb } from './retry.ts'
import type { Call, Send } from './transport.ts'
import {
  configurationOf,
  configureBodyOf,
  ms,
  pageOf,
  poppedOf,
  resultsOf,
  stateOf,
} from './views.ts'

type Request = Omit<Call, 'verb' | 'method' | 'path'>

export function queueCalls<T>(send: Send, id: string): Omit<Queue<T>, 'consume' | 'items'> {
  const path = pathOf(id)
  const post = (verb: Verb, action: string, request: Request) =>
    send({ verb, method: 'POST', path: `${path}/${action}`, ...request })
  const get = (verb: Verb, below: string, request: Request) =>
    send({ verb, method: 'GET', path: `${path}${below}`, ...request })
  const settle = async (verb: Verb, action: string, body: object, options: CallOptions) =>
    (await post(verb, action, { body: JSON.stringify(body), ...signalOf(options) })).body

  return {
    id,
    async push(item, options = {}) {
      const body = pushText({ item, ...options })
      const answer = await post('push', 'push', { body, ...keyOf(options), ...signalOf(options) })
      const [itemId] = (answer.body as PushAnswer).ids
      return itemId === undefined ? {} : { id: itemId }
    },
    async pushMany(items, options = {}) {
      const body = `{"items":[${items.map(pushText).join(',')}]}`
      const request = { body, ...keyOf(options), ...signalOf(options) }
      const answer = (await post('pushMany', 'push', request)).body as PushAnswer
      return { itemsPushed: answer.items_pushed, ids: answer.ids }
    },
    async pop(options = {}) {
      const { count, ack, ttlSeconds, competing, acknowledge, waitForLockMs, hurry } = options
      const answer = await post('pop', 'pop', {
        query: {
          count,
          require_ack: ack,
          ttl_seconds: ttlSeconds,
          allow_competing_consumers: competing,
          acknowledge,
        },
        ...keyOf(options),
        ...signalOf(options),
        holdsLock: acknowledge !== undefined,
        waitForLockMs,
        hurry,
      })
      return poppedOf<T>(answer.body as PopAnswer, answer.text)
    },
    async acknowledge(lockId, options = {}) {
      const body = await settle('acknowledge', 'acknowledge', someOf(lockId, options), options)
      return { itemsAcknowledged: (body as AcknowledgeAnswer).items_acknowledged }
    },
    async acknowledgeMany(lockIds, options = {}) {
      const body = await settle('acknowledgeMany', 'acknowledge', { lock_ids: lockIds }, options)
      return resultsOf(body as Extract<AcknowledgeAnswer, { results: unknown }>)
    },
    async extend(lockId, ttlSeconds, options = {}) {
      const request = { lock_id: lockId, ttl_seconds: ttlSeconds }
      const body = (await settle('extend', 'extend-lock', request, options)) as ExtendLockAnswer
      return {
        lockId: body.lock_id,
        expiresAtMs: ms(body.lock_expires_at),
        ttlSeconds: body.ttl_seconds,
      }
    },
    async release(lockId, options = {}) {
      const body = await settle('release', 'release', someOf(lockId, options), options)
      return { itemsReleased: (body as ReleaseAnswer).items_released }
    },
    async deadLetter(lockId, options = {}) {
      const { reason } = options
      const request = { ...someOf(lockId, options), ...(reason !== undefined && { reason }) }
      const body = (await settle('deadLetter', 'dead-letter', request, options)) as DeadLetterAnswer
      return {
        itemsDeadLettered: body.items_dead_lettered,
        deadLetterQueue: body.dead_letter_queue,
      }
    },
    async inspect(options = {}) {
      const query = { consistent: options.consistent, oldest: options.oldest }
      const { body, etag } = await get('inspect', '', { query, ...signalOf(options) })
      return stateOf(body as InspectAnswer, etag)
    },
    async peek(options = {}) {
      const { priority, limit, cursor } = options
      const query = { priority, limit, cursor }
      const { body, text } = await get('peek', '/items', { query, ...signalOf(options) })
      return pageOf<T>(body as BrowseAnswer, text)
    },
    async configuration(options = {}) {
      const { body, etag } = await get('configuration', '/config', signalOf(options))
      return configurationOf(body as ConfigurationAnswer, etag)
    },
    async configure(change, options = {}) {
      const { ifMatch } = options
      const { body, etag } = await send({
        verb: 'configure',
        method: 'PUT',
        path: `${path}/config`,
        body: JSON.stringify(configureBodyOf(change)),
        ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch }, isRepeatable: true }),
        ...signalOf(options),
      })
      return configurationOf(body as ConfigureAnswer, etag)
    },
    async purge(options = {}) {
      const { priority } = options
      const body = await settle(
        'purge',
        'purge',
        priority === undefined ? {} : { priority },
        options,
      )
      return { itemsPurged: (body as PurgeAnswer).items_purged }
    },
    async redrive(options = {}) {
      const { limit } = options
      const request = limit === undefined ? {} : { limit }
      const body = (await settle('redrive', 'redrive', request, options)) as RedriveAnswer
      return { itemsRedriven: body.items_redriven, itemsLeft: body.items_left }
    },
  }
}

/** The service judges an id; these alone would not reach it, because they change the address. */
function pathOf(id: string): string {
  if (id !== '' && id !== '.' && id !== '..') return `/queue/${encodeURIComponent(id)}`
  throw new PushPopError(
    'INVALID_QUEUE_ID',
    `A queue id is 1 to 100 of A-Z a-z 0-9 . _ - and not "." or ".."; this one is "${id}"`,
    { field: 'id' },
  )
}

function pushText({ item, priority }: { item: unknown; priority?: number }): string {
  const rest = priority === undefined ? '' : `,"priority":${JSON.stringify(priority)}`
  return `{"item":${textOf(item)}${rest}}`
}

const someOf = (lockId: string, { ids }: SettleOptions): object => ({
  lock_id: lockId,
  ...(ids !== undefined && { ids }),
})

const signalOf = ({ signal }: CallOptions): Request => (signal === undefined ? {} : { signal })

function keyOf({ idempotent, idempotencyKey }: KeyOptions): Request {
  const key = idempotencyKey ?? (idempotent ? newKey() : undefined)
  return key === undefined ? {} : { headers: { 'idempotency-key': key }, isRepeatable: true }
}

/** Not `crypto.randomUUID`, which pages have under https alone. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
