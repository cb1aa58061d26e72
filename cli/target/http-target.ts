// Queues over HTTP. Hides where the client's verbs, names and answers differ from the engine's.

import { type Configuration, createClient, isQueueLocked, rawJson } from '../../client/index.ts'
import type { Source } from '../../engine/core/settings.ts'
import type { AcknowledgeResult } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import { tellWait } from '../terminal.ts'
import { httpAuth, reachable } from './http.ts'
import type { AwsSettings, HttpPlace } from './place.ts'
import type { Configured, State, Target } from './target.ts'

/** The HTTP client behind the engine's verbs, which take the queue as their first argument. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of verbs, a few lines each
export function openHttpTarget(
  place: HttpPlace,
  aws: AwsSettings,
  token: string | undefined,
  tell: (line: string) => void,
): Target {
  const { url, asTyped } = place
  const client = createClient({
    url,
    auth: httpAuth(place, aws, token),
    retry: {
      onRetry: ({ message }, pauseMs) => tellWait(tell, message, pauseMs),
    },
  })
  const queueOf = (queue: string) => client.queue<unknown>(queue)
  return reachable(url, {
    push(queue, { items, idempotencyKey, respondAsync }) {
      const entries = items.map(({ text, expiresAtMs, deliverAtMs, sinceMs: _, ...options }) => ({
        item: rawJson(text),
        expiresAt: expiresAtMs,
        deliverAt: deliverAtMs,
        ...options,
      }))
      return queueOf(queue).pushMany(entries, { idempotencyKey, respondAsync })
    },
    // Do not pass the signal: the service would not notice that we hang up, and would pop items for nobody.
    async pop(queue, { requireAck = false, idempotencyKey: _, signal: __, ...request } = {}) {
      try {
        const popped = await queueOf(queue).pop({
          ...request,
          requireAck: requireAck,
          // A lock whose id was lost on the way would hold the queue until it expires: with a key
          // the client asks again, and gets it.
          idempotent: requireAck,
        })
        const { items, itemsAcknowledged } = popped
        if (items.length > 0) return { kind: 'items', ...popped }
        const more = popped.more || undefined
        return present({ kind: 'empty' as const, more, itemsAcknowledged })
      } catch (error) {
        if (!isQueueLocked(error)) throw error
        return { kind: 'locked', expiresAtMs: error.lockExpiresAtMs ?? Date.now() }
      }
    },
    acknowledge: (queue, { lockId, ids }) => queueOf(queue).acknowledge(lockId, { ids }),
    async acknowledgeMany(queue, lockIds) {
      const results = await queueOf(queue).acknowledgeMany(lockIds)
      // The service refuses a lock with no other codes than the engine does.
      return results as readonly AcknowledgeResult[]
    },
    extend: (queue, { lockId, ttlSeconds }) => queueOf(queue).extend(lockId, ttlSeconds),
    release: (queue, { lockId, ...options }) => queueOf(queue).release(lockId, options),
    browse: (queue, request) => queueOf(queue).peek(request),
    cancel: (queue, ids) => queueOf(queue).cancel(ids),
    scheduled: (queue, { fromMs, toMs, ...page } = {}) =>
      queueOf(queue).scheduled({ ...page, from: fromMs, to: toMs }),
    move: (queue, { ids, deliverAtMs, ...where }) =>
      queueOf(queue).move(ids, { ...where, deliverAt: deliverAtMs }),
    purge: (queue, request) => queueOf(queue).purge(request),
    redrive: (queue, request) => queueOf(queue).redrive(request),
    configuration: async (queue) => configured(await queueOf(queue).configuration()),
    async configure(queue, change, tag) {
      const ifMatch = tag === undefined ? undefined : `"${tag}"`
      return configured(await queueOf(queue).configure(change, { ifMatch }))
    },
    async unconfigure(queue, tag) {
      const ifMatch = tag === undefined ? undefined : `"${tag}"`
      return configured(await queueOf(queue).unconfigure({ ifMatch }))
    },
    async inspect(queue, request): Promise<State> {
      const { id, priorities, ...state } = await queueOf(queue).inspect(request)
      return { queue: id, lanes: priorities, ...state }
    },
    async *queues({ prefix, detail }) {
      for await (const { id, count, scheduledCount } of client.queues({
        prefix,
        detail,
        smallerPages: true,
      })) {
        yield present({ queue: id, count, scheduledCount })
      }
    },
    name: url,
    asTyped,
    // Connections that are kept alive end with the process.
    close() {},
  })
}

const configured = ({ etag = '', ...settings }: Configuration): Configured => ({
  settings: {
    ...settings,
    // A pattern always has its prefix.
    source: settings.source as Source,
    revision: Number(unquoted(etag)),
  },
  etag: unquoted(etag),
})

const unquoted = (etag: string): string => etag.replaceAll('"', '')
