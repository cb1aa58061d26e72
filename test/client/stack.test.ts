// The client against what `npm start` runs: what the sentences of `pushpop verify`, which it plays (test/cli/verify),
// leave open.

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, type ConsumeFailure, createClient, type Queue } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import { clearOfMidnight } from '../support/midnight.ts'

let stack: LocalStack
let client: Client
let made = 0
const newQueue = <T = unknown>(): Queue<T> => client.queue<T>(`q-${++made}`)

beforeAll(async () => {
  stack = await startLocalStack({ port: 0 })
  client = createClient({ url: stack.url })
})
afterAll(() => stack?.stop())

async function listed<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of list) all.push(one)
  return all
}

async function until(holds: () => boolean | Promise<boolean>) {
  while (!(await holds())) await delay(20)
}

test('a locked queue is waited for', async () => {
  const queue = newQueue<number>()
  await queue.pushMany([{ item: 1 }, { item: 2 }])
  const { lock } = await queue.pop({ requireAck: true })
  await expect(queue.pop()).rejects.toMatchObject({
    code: 'QUEUE_LOCKED',
    status: 423,
    lockExpiresAtMs: lock?.expiresAtMs,
  })
  const waiting = queue.pop({ waitForLockMs: 20_000 })
  await delay(300)
  await queue.acknowledge(lock?.id ?? '')
  expect((await waiting).items).toMatchObject([{ value: 2 }])
})

describe('a rate limit', () => {
  test('lets as many go as it may, keeps places, and is configured', async () => {
    await clearOfMidnight()
    const limit = client.rate('partner')
    expect(await limit.configuration()).toMatchObject({
      settings: { maxRequests: 100, allowOverrides: true },
      etag: '"0"',
    })
    const set = { maxRequests: 2, maxRequestsInQueue: 2, windowMillis: 86_400_000 }
    const { settings, etag = '' } = await limit.configure(set, { ifMatch: '"0"' })
    expect(settings).toMatchObject({ ...set, algorithm: 'window', allowOverrides: false })
    await expect(limit.configure(set, { ifMatch: '"0"' })).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
    })

    expect(await limit.decide({ cost: 2 })).toMatchObject({ kind: 'allowed', remaining: 0 })
    const denied = { kind: 'denied', retryAfterMs: expect.any(Number) }
    expect(await limit.decide()).toEqual(denied)
    const [first, second] = [await limit.wait(), await limit.decide({ canWait: true })]
    if (first.kind !== 'promised' || second.kind !== 'promised') throw new Error('no tickets')
    expect([first.position, second.position]).toEqual([1, 2])
    expect(await limit.wait()).toEqual(denied)
    expect(await limit.state()).toMatchObject({
      key: 'partner',
      from: 'key',
      shards: [{ limit: 2, remaining: 0, waiting: 2, lastTurnMs: second.turn.notBeforeMs }],
    })
    const state = await limit.verify(first.ticket)
    expect(state).toMatchObject({ kind: 'waiting', turn: first.turn })
    expect(await limit.giveUp(first.ticket)).toEqual({ kind: 'kept' })
    expect(await limit.giveUp(second.ticket)).toEqual({ kind: 'given-up' })
    for (const [by, ticket] of [
      [client.rate('other'), first.ticket],
      [limit, 'a.b'],
    ] as const) {
      await expect(by.verify(ticket)).rejects.toMatchObject({ code: 'TICKET_NOT_FOUND' })
    }
    await expect(limit.decide({ maxRequests: 9 })).rejects.toMatchObject({
      code: 'OVERRIDE_REFUSED',
      field: 'maxRequests',
    })

    const { patterns, etag: before = '' } = await client.ratePatterns()
    expect(patterns).toEqual([])
    const own = [{ prefix: 'part', settings: { maxRequests: 7 } }]
    expect(await client.configureRatePatterns(own, { ifMatch: before })).toMatchObject({
      patterns: [{ prefix: 'part', settings: { maxRequests: 7, burst: 1 } }],
    })
    await expect(client.configureRatePatterns([], { ifMatch: before })).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
    })
    expect(await limit.unconfigure({ ifMatch: etag })).toMatchObject({
      settings: { maxRequests: 7 },
      etag: '"0"',
    })
  })

  test('of queues: the settings of prefixes', async () => {
    const prefix = 'patterned.'
    const { etag = '' } = await client.queuePatterns()
    const patterns = [{ prefix, settings: { maxDeliveries: 5, popLimit: { maxRequests: 9 } } }]
    const changed = await client.configureQueuePatterns(patterns, { ifMatch: etag })
    expect(changed.patterns).toMatchObject([
      { prefix, settings: { maxDeliveries: 5, popLimit: { maxRequests: 9, burst: 1 } } },
    ])
    expect(await client.queuePatterns()).toEqual(changed)
    const queue = client.queue(`${prefix}1`)
    const source = { from: 'pattern', prefix }
    const told = await queue.configuration()
    expect(told).toMatchObject({ source, maxDeliveries: 5, etag: '"0.1"' })
    const own = await queue.configure({ ...told, capacity: 7 })
    expect(own).toMatchObject({ source: { from: 'queue' }, maxDeliveries: 5, capacity: 7 })
    expect(await queue.unconfigure({ ifMatch: own.etag })).toMatchObject({ source, etag: '"2.1"' })
  })

  test('is waited for: a turn each', async () => {
    const limit = client.rate('paced')
    await limit.configure({ maxRequests: 1, windowMillis: 300 })
    const startedAtMs = performance.now()
    const waits = await Promise.all([1, 2, 3, 4].map(() => limit.wait()))
    expect(waits).toEqual(waits.map(() => ({ kind: 'allowed' })))
    // The first may have come just before its window was over.
    expect(performance.now() - startedAtMs).toBeGreaterThan(590)
  })
})

test('a push whose answers are lost happens once if it has a key', async () => {
  let lost = 0
  const lossy: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    if (++lost > 2) return answer
    await answer.text()
    throw new TypeError('terminated')
  }
  const queue = createClient({ url: stack.url, fetch: lossy }).queue<string>(newQueue().id)
  expect(await queue.push('once', { idempotent: true })).toHaveProperty('id')
  expect(lost).toBe(3)
  expect((await queue.inspect({ consistent: true })).count).toBe(1)
})

describe('consume', () => {
  const fill = (queue: Queue<number>, n: number) =>
    queue.pushMany(Array.from({ length: n }, (_, i) => ({ item: i })))

  test('four at once work 200 items, each acknowledged exactly once', async () => {
    const queue = newQueue<number>()
    await fill(queue, 200)
    const stop = new AbortController()
    const seen: number[] = []
    const failures: ConsumeFailure[] = []
    const handler = async ({ value }: { value: number }) => {
      seen.push(value)
      await delay(1)
      if (seen.length === 200) stop.abort()
    }
    const onError = (failure: ConsumeFailure) => failures.push(failure)
    const options = { concurrency: 4, signal: stop.signal, onError }
    expect(await queue.consume(handler, options)).toEqual({
      acknowledged: 200,
      released: 0,
      deadLettered: 0,
    })
    expect(failures).toEqual([])
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i))
    expect(await queue.inspect({ consistent: true })).toMatchObject({ count: 0, locks: [] })
  })

  test.each([1, 3])(
    'works every item though answers are lost (concurrency %i)',
    async (concurrency) => {
      const id = newQueue().id
      await fill(client.queue<number>(id), 100)
      const random = randomOf(concurrency)
      let lost = 0
      const lossy: typeof fetch = async (input, init) => {
        if (random() < 0.04) throw new TypeError(`not sent ${++lost}`)
        const answer = await fetch(input, init)
        if (random() >= 0.08) return answer
        await answer.text()
        throw new TypeError(`answer lost ${++lost}`)
      }
      const queue = createClient({ url: stack.url, fetch: lossy }).queue<number>(id)
      const stop = new AbortController()
      const seen = new Set<number>()
      const handler = ({ value }: { value: number }) => {
        seen.add(value)
        if (seen.size === 100) stop.abort()
      }
      const options = { concurrency, lockTtlSeconds: 2, signal: stop.signal, onError: () => {} }
      const counts = await queue.consume(handler, options)
      expect(lost).toBeGreaterThan(5)
      expect(seen.size).toBe(100)
      // What a lost answer left in a lock is back when the lock is over, and nothing else is left.
      await until(async () => {
        await client.queue<number>(id).pop({ count: 100, competing: true })
        const { count, locks } = await queue.inspect({ consistent: true })
        return count === 0 && locks.length === 0
      })
      expect(counts.acknowledged).toBeLessThanOrEqual(100)
      expect(counts.acknowledged).toBeGreaterThan(90)
    },
  )
})

/** Numbers of a seed: the same losses in each run. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

describe('many queues', () => {
  test('under a prefix are worked over HTTP, also those that come later', async () => {
    const prefix = `many-${++made}.`
    const queue = (id: string) => client.queue<string>(`${prefix}${id}`)
    await queue('a').pushMany([{ item: 'a1' }, { item: 'poison' }, { item: 'a2' }])
    const stop = new AbortController()
    const done: string[] = []
    const consumed = client.consumeMany<string>(
      { prefix },
      (items, context) => {
        for (const item of items) {
          if (item.value === 'poison') context.deadLetter(item, 'it is one')
          else done.push(`${context.queue.slice(prefix.length)}: ${item.value}`)
        }
      },
      { batchSize: 10, signal: stop.signal },
    )
    await until(() => done.length === 2)
    await queue('b').push('b1')
    await until(() => done.length === 3)
    stop.abort()
    expect(await consumed).toEqual({ acknowledged: 3, released: 0, deadLettered: 1 })
    expect(done).toEqual(['a: a1', 'a: a2', 'b: b1'])
    const ids = [`${prefix}a`, `${prefix}b`]
    const counts = await listed(client.queues({ ids, detail: true }))
    expect(counts.map(({ id, count, lockedCount }) => ({ id, count, lockedCount }))).toEqual(
      ids.map((id) => ({ id, count: 0, lockedCount: 0 })),
    )
  })

  test('are refused before anything is asked, where the options cannot work', async () => {
    const handler = () => {}
    for (const [which, options] of [
      [{} as never, {}],
      [{ queues: [] }, {}],
      [{ queues: [undefined as never] }, {}],
      [{ prefix: 'a' }, { batchSize: 101 }],
      [{ prefix: 'a' }, { lockTtlSeconds: 1 }],
      [{ prefix: 'a' }, { queuesAtOnce: 0 }],
    ] as const) {
      await expect(client.consumeMany(which, handler, options)).rejects.toThrow(TypeError)
    }
  })
})

test('a pop waits for what is pushed meanwhile', async () => {
  const queue = newQueue<string>()
  const waiting = queue.pop({ requireAck: true, waitSeconds: 20 })
  await queue.push('a')
  const { items, lock } = await waiting
  expect(items.map(({ value }) => value)).toEqual(['a'])
  await queue.acknowledge(lock?.id ?? '')
})
