// Queues over HTTP. Hides where the client's verbs, names and answers differ from the engine's.

import {
  type Configuration,
  createClient,
  isQueueLocked,
  type Queue,
  rawJson,
} from '../../client/index.ts'
import { clientNames, isLeading } from '../../client/tabled-calls.ts'
import type { Source } from '../../engine/core/settings.ts'
import type { AcknowledgeResult, Queues } from '../../engine/queues.ts'
import { type Asked, asks, engineName } from '../../shared/verbs.ts'
import { present } from '../../shared/wire.ts'
import { tellWait } from '../terminal.ts'
import { httpAuth, reachable } from './http.ts'
import type { AwsSettings, HttpPlace } from './place.ts'
import type { Configured, State, Target } from './target.ts'

/** The HTTP client behind the engine's verbs, which take the queue as their first argument. */
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
    ...tabledOn(queueOf),
    async acknowledgeMany(queue, lockIds) {
      const results = await queueOf(queue).acknowledgeMany(lockIds)
      // The service refuses a lock with no other codes than the engine does.
      return results as readonly AcknowledgeResult[]
    },
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

type Tabled = {
  [V in keyof typeof clientNames]: (
    ...given: Parameters<Queues[V]>
  ) => ReturnType<Queue<unknown>[(typeof clientNames)[V]]>
}

/** The engine's requests as the client takes them: what is needed first, then options, whose times name no unit. */
function tabledOn(queueOf: (queue: string) => Queue<unknown>): Tabled {
  type Call = (...given: readonly unknown[]) => unknown
  const calls = Object.entries(clientNames).map(([verb, name]): [string, Call] => [
    verb,
    (queue, given) => {
      const fields = Object.entries<Asked>(asks[verb as keyof Tabled]).map(([field, kind]) => ({
        field,
        isFirst: isLeading(kind),
        value: kind === 'itself' ? given : (given as Fields)?.[engineName(field, kind)],
      }))
      const first = fields.filter(({ isFirst }) => isFirst).map(({ value }) => value)
      const options = fields.filter(({ isFirst }) => !isFirst)
      const call = queueOf(queue as string)[name] as Call
      return call(...first, Object.fromEntries(options.map(({ field, value }) => [field, value])))
    },
  ])
  return Object.fromEntries(calls) as unknown as Tabled
}

type Fields = Readonly<Record<string, unknown>> | undefined

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
