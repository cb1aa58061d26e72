// Checks of what a call may send: repeated, by way of the inbox, too large, or wrong.

import { type Queue, rawJson } from '../../../client/index.ts'
import type { Call } from '../../../client/transport.ts'
import {
  drained,
  numbers,
  pushAll,
  type Refusal,
  refused,
  Skipped,
  same,
  together,
} from '../claims.ts'
import type { Check, Stage } from '../stage.ts'

const KEY = 'order-17'

/** Only one of the calls did it; all others say that they repeat it. */
function asOnce(pushed: object = {}): object {
  const { repeated: _, ...answer } = pushed as { repeated?: true }
  return answer
}

export const idempotency: Check = {
  name: 'idempotency',
  promise: 'An idempotency key gives a call one effect and one answer',
  steps: {
    'A push that is repeated has the same ids, and is there once': async ({ queue }) => {
      const it = queue<string>()
      const items = [{ item: 'a' }, { item: 'b', priority: 2 }]
      const first = await it.pushMany(items, { idempotencyKey: KEY })
      const second = await it.pushMany(items, { idempotencyKey: KEY })
      same('the second answer', asOnce(second), first)
      same('the items', await drained(it, 4), ['a', 'b'])
    },

    'The same holds for repetitions that overlap': async ({ queue }) => {
      const it = queue<string>()
      const push = () => it.push('once', { idempotencyKey: KEY })
      const [first, ...others] = await together([push, push, push])
      for (const other of others) same('another answer', asOnce(other), asOnce(first))
      same('the items', await drained(it, 3), ['once'])
    },

    'The key with another body is refused, and nothing is pushed': async ({ queue }) => {
      const it = queue<string>()
      await it.push('a', { idempotencyKey: KEY })
      const other = it.push('b', { idempotencyKey: KEY })
      await refused(other, { code: 'IDEMPOTENCY_CONFLICT', status: 422, field: 'Idempotency-Key' })
      same('the items', await drained(it, 2), ['a'])
    },

    'A pop that is repeated has the same items and the same lock': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const options = { requireAck: true, count: 2, ttlSeconds: 60, idempotencyKey: KEY }
      const first = await it.pop(options)
      same('the second answer', await it.pop(options), first)
    },
  },
}

export const inbox: Check = {
  name: 'inbox',
  promise: 'What the inbox accepted comes into its queue, once and in order',
  waits: true,
  steps: {
    'What was accepted one after the other comes in that order': async ({ queue, until }) => {
      const it = queue<number>()
      for (const n of numbers(5)) await accepted(it, n)
      same('the items', await come(it, 4, until), numbers(5))
    },

    'A push that is repeated with its key comes once': async ({ queue, until }) => {
      const it = queue<number>()
      for (const n of [0, 0, 1]) await accepted(it, n, n === 0 ? KEY : undefined)
      same('the items', await come(it, 1, until), [0, 1])
    },
  },
}

async function accepted(queue: Queue<number>, item: number, idempotencyKey?: string) {
  const { messageId } = await queue.push(item, { respondAsync: true, idempotencyKey })
  if (messageId === undefined) throw new Skipped('this service has no inbox')
}

/** The items there, without taking them, as soon as the one that was accepted last is among them. */
async function come(queue: Queue<number>, last: number, until: Stage['until']) {
  let found: number[] = []
  await until(`${last} to come from the inbox`, async () => {
    found = []
    for await (const { value } of queue.items()) found.push(value)
    return found.includes(last)
  })
  return found
}

const FULL = { code: 'QUEUE_FULL', status: 429 } as const
const ITEM_BYTES_MAX = 256 * 1024
const BODY_BYTES_MAX = 2.5 * 1024 * 1024

export const bounds: Check = {
  name: 'bounds',
  promise: 'A request beyond a bound is refused, and nothing of it is stored',
  steps: {
    'A full queue refuses a push, and takes it when there is room again': ({
      withSettings,
      once,
    }) =>
      withSettings(async (it) => {
        await it.configure({ capacity: 3 })
        await pushAll(it, ['a', 'b', 'c'])
        await refused(once(it).push('d'), FULL)
        await it.pop()
        await it.push('e')
        same('the items', await drained(it, 3), ['b', 'c', 'e'])
      }),

    'A bulk push that does not fit leaves nothing': ({ withSettings, once }) =>
      withSettings(async (it) => {
        await it.configure({ capacity: 3 })
        await pushAll(it, ['a', 'b'])
        await refused(pushAll(once(it), ['c', 'd']), FULL)
        same('the items', await drained(it, 2), ['a', 'b'])
      }),

    'An item of more than 256 KiB is refused with 413 and the limit': async ({ queue }) => {
      const it = queue()
      const tooLarge = it.push('x'.repeat(ITEM_BYTES_MAX))
      const error = await refused(tooLarge, { code: 'ITEM_TOO_LARGE', status: 413 })
      same('limit_bytes', error.limitBytes, ITEM_BYTES_MAX)
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },

    'A body of more than 2.5 MiB is refused with 413': async ({ queue }) => {
      const it = queue()
      const text = rawJson(`"${'x'.repeat(200_000)}"`)
      const body = it.pushMany(numbers(14).map(() => ({ item: text })))
      const error = await refused(body, { code: 'BODY_TOO_LARGE', status: 413 })
      same('limit_bytes', error.limitBytes, BODY_BYTES_MAX)
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },

    'A push of more than 1,000 items is refused': async ({ queue }) => {
      const it = queue<number>()
      const status = 400
      await refused(pushAll(it, numbers(1_001)), { code: 'INVALID_ITEM', status, field: 'items' })
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },
  },
}

type Request = NonNullable<Call['address']> & Pick<Call, 'query' | 'headers' | 'body'>

/** Each is wrong in one way. A path of one word is that action of an empty queue. */
const wrong: Readonly<Record<string, readonly [Request, Refusal]>> = {
  'A priority below 0': [
    push('{"item": 1, "priority": -1}'),
    { code: 'INVALID_PRIORITY', status: 400, field: 'priority' },
  ],
  'A bad priority of one item among many': [
    push('{"items": [{"item": 1}, {"item": 2, "priority": 1.5}]}'),
    { code: 'INVALID_PRIORITY', status: 400, field: 'items[1].priority' },
  ],
  'A push without an item': [
    push('{"priority": 1}'),
    { code: 'INVALID_ITEM', status: 400, field: 'item' },
  ],
  'A field that no push has': [
    push('{"item": 1, "prioritty": 1}'),
    { code: 'UNKNOWN_FIELD', status: 400, field: 'prioritty' },
  ],
  'A body that is not JSON': [push('{"item": 1'), { code: 'INVALID_JSON', status: 400 }],
  'A body that says that it is not JSON': [
    { ...push('{"item": 1}'), headers: { 'content-type': 'text/plain' } },
    { code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 },
  ],
  'A queue id with a space': [
    { method: 'POST', path: '/queue/a%20b/push', body: '{"item": 1}' },
    { code: 'INVALID_QUEUE_ID', status: 400, field: 'id' },
  ],
  'A count of 0': [
    { method: 'POST', path: '/pop', query: { count: 0 } },
    { code: 'INVALID_COUNT', status: 400, field: 'count' },
  ],
  'A count of 101': [
    { method: 'POST', path: '/pop', query: { count: 101 } },
    { code: 'INVALID_COUNT', status: 400, field: 'count' },
  ],
  'A lock of half a second': [
    { method: 'POST', path: '/pop', query: { require_ack: true, ttl_seconds: 0.5 } },
    { code: 'INVALID_TTL', status: 400, field: 'ttl_seconds' },
  ],
  'A parameter that no pop has': [
    { method: 'POST', path: '/pop', query: { cuont: 1 } },
    { code: 'UNKNOWN_FIELD', status: 400, field: 'cuont' },
  ],
  'A cursor that no page gave': [
    { method: 'GET', path: '/items', query: { cursor: 'x' } },
    { code: 'INVALID_PARAMETER', status: 400, field: 'cursor' },
  ],
  'A segment size of 0': [
    { method: 'PUT', path: '/config', body: '{"segment_size": 0}' },
    { code: 'INVALID_PARAMETER', status: 400, field: 'segment_size' },
  ],
  'An address that is none': [
    { method: 'GET', path: '/nothing/here' },
    { code: 'NOT_FOUND', status: 404 },
  ],
  'A method that the address does not take': [
    { method: 'DELETE', path: '/push' },
    { code: 'METHOD_NOT_ALLOWED', status: 405 },
  ],
}

export const input: Check = {
  name: 'input',
  promise: 'Bad input is refused with a code and the field’s name, and stores nothing',
  steps: Object.fromEntries(
    Object.entries(wrong).map(([name, [request, refusal]]) => [
      name,
      (stage: Stage) => isRefused(stage, request, refusal),
    ]),
  ),
}

function push(body: string): Request {
  return { method: 'POST', path: '/push', body }
}

async function isRefused(
  stage: Stage,
  { method, path: wanted, ...request }: Request,
  refusal: Refusal,
): Promise<void> {
  const it = stage.queue()
  const isBelow = /^\/[a-z]+$/.test(wanted)
  const address = { method, path: isBelow ? `/queue/${it.id}${wanted}` : wanted }
  // `verb` decides about retries, and there are none here.
  const error = await refused(stage.send({ verb: 'push', ...request, address }), refusal)
  // Without our route, the gateway would answer an unknown address in its own words.
  if (refusal.status === 404) same('the words', error.message.slice(0, NOWHERE.length), NOWHERE)
  same('the count', (await it.inspect({ consistent: true })).count, 0)
}

const NOWHERE = 'There is nothing at this address'
