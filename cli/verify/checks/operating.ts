// Checks of what operators rely on: settings and limits, purges, what can be seen, and who may call.

import { isDeepStrictEqual } from 'node:util'
import {
  type Client,
  type Configuration,
  isPushPopError,
  type QueuePattern,
  type RateDecision,
} from '../../../client/index.ts'
import type { Call } from '../../../client/transport.ts'
import {
  drained,
  holds,
  lock,
  numbers,
  pushAll,
  refused,
  Skipped,
  same,
  valuesIn,
} from '../claims.ts'
import { randomName } from '../estate.ts'
import type { Check, Stage } from '../stage.ts'

export const configuration: Check = {
  name: 'configuration',
  promise: 'Settings change one by one, and only at the revision that If-Match names',
  steps: {
    'A change shows the new settings and leaves the others alone': ({ withSettings }) =>
      withSettings(async (it) => {
        await it.configure({ maxDeliveries: 7, segmentSize: 50 })
        await it.configure({ capacity: 500 })
        const { maxDeliveries, segmentSize, capacity } = await it.configuration()
        same(
          'the settings',
          { maxDeliveries, segmentSize, capacity },
          {
            maxDeliveries: 7,
            segmentSize: 50,
            capacity: 500,
          },
        )
        const after = await it.configure({ maxDeliveries: null })
        same('a setting that was taken away', after.maxDeliveries, undefined)
      }),

    'A change at another revision is refused with 412, and changes nothing': ({ withSettings }) =>
      withSettings(async (it) => {
        const before = await it.configure({ capacity: 10 })
        const after = await it.configure({ capacity: 11 }, { ifMatch: before.etag ?? '' })
        holds(after.etag !== before.etag, 'a change left the ETag as it was')
        const late = it.configure({ capacity: 12 }, { ifMatch: before.etag ?? '' })
        await refused(late, { code: 'VERSION_MISMATCH', status: 412, field: 'If-Match' })
        same('the capacity', (await it.configuration()).capacity, 11)
      }),
  },
}

/** A run looks at so many prefixes, and at so many queues of each: it changes nothing, and has little time. */
const PREFIXES_MAX = 10
const QUEUES_MAX = 10
const ID_LENGTH_MAX = 100

/** Only looks, because the patterns are the operator's. */
export const patterns: Check = {
  name: 'patterns',
  promise: 'A queue without settings of its own has those of the longest prefix in /queue-config',
  waits: true,
  steps: {
    'A queue that is not there would have the settings of its prefix': async ({ client }) => {
      const all = await patternsOf(client)
      for (const { prefix } of all.slice(0, PREFIXES_MAX)) {
        const id = `${prefix}${randomName()}`
        if (id.length > ID_LENGTH_MAX) continue
        const found = await client.queue(id).configuration()
        same(`the settings of ${id}`, settingsOf(found), settingsBy(all, id))
      }
    },

    'Queues that are there have them, two minutes after a change': async (stage) => {
      const { client, until, sweeperWithinMs } = stage
      for (const { prefix } of (await patternsOf(client)).slice(0, PREFIXES_MAX)) {
        let looked = 0
        for await (const { id } of client.queues({ prefix })) {
          looked += 1
          if (looked > QUEUES_MAX) break
          const isAsItMustBe = async () => {
            const found = await client.queue(id).configuration()
            if (found.source.from === 'queue') return true
            // Read again: somebody may be changing them.
            return isDeepStrictEqual(settingsOf(found), settingsBy(await patternsOf(client), id))
          }
          await until(`${id} to have the settings of its prefix`, isAsItMustBe, sweeperWithinMs)
        }
      }
    },
  },
}

async function patternsOf(client: Client): Promise<readonly QueuePattern[]> {
  const { patterns } = await client.queuePatterns()
  if (patterns.length > 0) return patterns
  throw new Skipped('this service has no settings of prefixes')
}

const settingsOf = ({ etag: _, ...settings }: Configuration) => settings

/** Written independently: it uses none of the code that it judges. */
function settingsBy(all: readonly QueuePattern[], id: string): unknown {
  const fitting = all.filter(({ prefix }) => id.startsWith(prefix) && !id.endsWith('-deadletter'))
  const longest = fitting.toSorted((a, b) => b.prefix.length - a.prefix.length)[0]
  return longest === undefined
    ? { segmentSize: 100, bufferSegments: 1, source: { from: 'default' } }
    : { ...longest.settings, source: { from: 'pattern', prefix: longest.prefix } }
}

/** A smooth limit has no windows, so the second call cannot fall into the next one. */
const ONE_IN_FIVE_SECONDS = { maxRequests: 1, windowMillis: 5_000, algorithm: 'smooth' } as const

const LIMITED = { code: 'RATE_LIMITED', status: 429 } as const

export const queueLimits: Check = {
  name: 'queue-limits',
  promise:
    'Calls beyond a queue’s push_limit or pop_limit are refused, and told when to come again',
  steps: {
    'A push beyond push_limit is refused, and a pop is not': ({ withLimits, once }) =>
      withLimits(async (it) => {
        await it.configure({ pushLimit: ONE_IN_FIVE_SECONDS })
        await it.push('a')
        const error = await refused(once(it).push('b'), LIMITED)
        holds(isSoon(error.retryAfterMs), `retry_after_ms was ${error.retryAfterMs}`)
        same('the items', valuesIn(await it.pop()), ['a'])
      }),

    'A pop beyond pop_limit is refused, and a push is not': ({ withLimits, once }) =>
      withLimits(async (it) => {
        await it.configure({ popLimit: ONE_IN_FIVE_SECONDS })
        await pushAll(it, ['a', 'b'])
        same('the items', valuesIn(await it.pop()), ['a'])
        const error = await refused(once(it).pop(), LIMITED)
        holds(isSoon(error.retryAfterMs), `retry_after_ms was ${error.retryAfterMs}`)
      }),
  },
}

const isSoon = (ms = 0): boolean => ms > 0 && ms <= ONE_IN_FIVE_SECONDS.windowMillis

/** With windows of a day, no step runs into the end of one, except at midnight UTC. */
const TWO_A_DAY = { maxRequests: 2, windowMillis: 86_400_000 } as const

export const rateLimits: Check = {
  name: 'rate-limits',
  promise: 'A rate limit admits as many calls as it says, and gives the others a place in line',
  steps: {
    'Two calls may go, and the third learns when to come again': async ({ client, rateKey }) => {
      const limit = client.rate(rateKey())
      const kinds: RateDecision['kind'][] = []
      for (const _ of [1, 2, 3]) {
        const decision = await limit.decide(TWO_A_DAY)
        kinds.push(decision.kind)
        if (decision.kind === 'denied') holds(decision.retryAfterMs > 0, 'no retry_after_ms came')
      }
      same('the decisions', kinds, ['allowed', 'allowed', 'denied'])
    },

    'A caller that can wait gets a ticket, which is good for its own key alone': async (stage) => {
      const [limit, other] = [stage.rateKey(), stage.rateKey()].map(stage.client.rate)
      holds(limit !== undefined && other !== undefined, 'two keys were made')
      await limit.decide({ ...TWO_A_DAY, cost: 2 })
      const [first, second] = [
        await limit.decide({ ...TWO_A_DAY, canWait: true, maxWaitMs: 0 }),
        await limit.decide({ ...TWO_A_DAY, canWait: true, maxWaitMs: 0 }),
      ]
      holds(first.kind === 'promised', `the first who could wait was ${first.kind}`)
      holds(second.kind === 'promised', `the second who could wait was ${second.kind}`)
      same('their positions', [first.position, second.position], [1, 2])
      same('the state of the ticket', (await limit.verify(first.ticket)).kind, 'waiting')
      const foreign = other.verify(first.ticket)
      await refused(foreign, { code: 'TICKET_NOT_FOUND', status: 404 })
      same('the last place, given up', (await limit.giveUp(second.ticket)).kind, 'given-up')
    },
  },
}

export const purge: Check = {
  name: 'purge',
  promise: 'A purge empties a queue, or one priority of it',
  steps: {
    'All items go, locked ones too, and the queue can be used again': async ({ queue }) => {
      const it = queue<number>({ items: 160 })
      await pushAll(it, numbers(150), 1)
      await pushAll(it, numbers(10), 2)
      await lock(it, { count: 20, ttlSeconds: 60 })
      same('the answer', await it.purge(), { itemsPurged: 160 })
      same('the count', (await it.inspect({ consistent: true })).count, 0)
      await it.push(7)
      same('the items', valuesIn(await it.pop({ count: 10 })), [7])
    },

    'The items of one priority go, and the others stay in order': async ({ queue }) => {
      const it = queue<string>()
      await it.pushMany([
        { item: 'a', priority: 1 },
        { item: 'b', priority: 2 },
        { item: 'c', priority: 3 },
        { item: 'd', priority: 2 },
        { item: 'e', priority: 1 },
      ])
      same('the answer', await it.purge({ priority: 2 }), { itemsPurged: 2 })
      same('the items', await drained(it, 5), ['a', 'e', 'c'])
    },
  },
}

export const looking: Check = {
  name: 'looking',
  promise: 'Looking shows what is there, in order, and changes nothing',
  steps: {
    'A browse shows all items, page by page, in the order of pops': async ({ queue }) => {
      const it = queue<number>({ items: 50 })
      await pushAll(it, numbers(30, 20), 5)
      await pushAll(it, numbers(20))
      const seen: number[] = []
      for await (const { value } of it.items({ limit: 15 })) {
        seen.push(value)
        holds(seen.length <= 50, 'a browse by its cursor showed more items than there are')
      }
      same('the items of the browse', seen, numbers(50))
      same('the items', await drained(it, 50), numbers(50))
    },

    'A browse of one priority shows only its items': async ({ queue }) => {
      const it = queue<number>()
      await pushAll(it, numbers(3), 1)
      await pushAll(it, numbers(3, 3), 2)
      const { items } = await it.peek({ priority: 2 })
      same(
        'the items',
        items.map(({ value, priority }) => [value, priority]),
        [
          [3, 2],
          [4, 2],
          [5, 2],
        ],
      )
    },

    'A queue tells its counts, its priorities and its locks': async ({ queue }) => {
      const it = queue<number>()
      await pushAll(it, numbers(3), 1)
      await pushAll(it, numbers(4), 9)
      const held = await lock(it, { count: 2, ttlSeconds: 60 })
      const { count, lockedCount, priorities, locks } = await it.inspect({ consistent: true })
      same('count and locked_count', [count, lockedCount], [7, 2])
      same(
        'the priorities',
        priorities.map((lane) => [lane.priority, lane.count]),
        [
          [1, 3],
          [9, 4],
        ],
      )
      same('the locks', locks, [{ expiresAtMs: held.lock?.expiresAtMs, count: 2, priorities: [1] }])
      const shown = (await it.peek()).items.map(({ state }) => state)
      same('locked items', shown.filter((state) => state === 'locked').length, 2)
    },

    'A queue that nobody has used is empty, and looking does not make it': async (stage) => {
      const it = stage.queue()
      const { count, version } = await it.inspect({ consistent: true })
      same('count and version', [count, version], [0, 0])
      same('the items', (await it.peek()).items, [])
      for await (const { id } of stage.client.queues({ prefix: it.id })) {
        holds(false, `the list has ${id} after it was only looked at`)
      }
    },

    'The list finds queues by their prefix, page by page': async ({ queue, client, until }) => {
      const made = [queue<number>(), queue<number>(), queue<number>()]
      for (const [at, it] of made.entries()) await pushAll(it, numbers(at + 1))
      const promised = made.map(({ id }, at) => ({ id, count: at + 1 }))
      const prefix = sharedStart(made.map(({ id }) => id))
      // The list reads an index, which follows the queues within a second or so.
      await until('the list to show three new queues', async () => {
        const listed: { readonly id: string; readonly count?: number }[] = []
        for await (const one of client.queues({ prefix, pageSize: 2 })) {
          if (promised.some(({ id }) => id === one.id)) listed.push(one)
        }
        return JSON.stringify(listed) === JSON.stringify(promised.toSorted(byId))
      })
    },
  },
}

type Named = { readonly id: string }

const byId = (a: Named, b: Named): number => (a.id < b.id ? -1 : 1)

function sharedStart([first = '', ...others]: readonly string[]): string {
  let length = first.length
  while (others.some((other) => !other.startsWith(first.slice(0, length)))) length -= 1
  return first.slice(0, length)
}

export const authorisation: Check = {
  name: 'authorisation',
  promise: 'Without credentials nothing but GET /healthz answers',
  steps: {
    'The list of queues is refused': (stage) => isRefused(stage, '/queues'),
    'A queue is refused': (stage) => isRefused(stage, `/queue/${stage.queue().id}`),
    'An address that is none is refused as well': (stage) => isRefused(stage, '/nothing/here'),
    'GET /healthz is open to everybody': async ({ signs, sendUnsigned }) => {
      mustSign(signs)
      await sendUnsigned({ verb: 'health' })
    },
  },
}

async function isRefused({ signs, sendUnsigned }: Stage, path: string): Promise<void> {
  mustSign(signs)
  const call: Call = { verb: 'inspect', address: { method: 'GET', path } }
  const error = await sendUnsigned(call).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (isPushPopError(error, 'UNAUTHORIZED', 'FORBIDDEN')) return
  if (error !== undefined && !isPushPopError(error, 'NOT_FOUND')) throw error
  holds(false, `GET ${path} was answered without credentials`)
}

/** A service that asks nobody cannot keep this promise, and does not give it. */
function mustSign(signs: boolean): void {
  if (!signs) throw new Skipped('these calls carry no credentials (--auth none)')
}

const REASON =
  'this command does not look: the API shows no event, and a bus is read by a rule and a target, which ' +
  'would be left on AWS by a run that is killed; the log of Announce shows what was put there (docs/cli.md)'

export const events: Check = {
  name: 'events',
  promise: 'Changes of a queue are announced on the event bus',
  steps: {
    'A push to an empty queue is announced': async () => {
      throw new Skipped(REASON)
    },
  },
}
