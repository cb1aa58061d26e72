// `pushpop/testing`, as the tests of a project that uses PushPop have it.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { consumer } from '../../lambdas/consumer/index.ts'
import { startQueues, type TestQueues } from '../../testing/index.ts'
import { keptEnvironment } from '../support/environment.ts'

let store: TestQueues
const putBack = keptEnvironment()

beforeAll(async () => {
  store = await startQueues({ name: 'shop' })
})
afterAll(() => store.stop())
afterEach(() => {
  putBack()
})

const item = { text: '{"order":17}' }

describe('Queues for a test', () => {
  it('are the engine on a table and bucket of their own.', async () => {
    const [queue, other] = [store.newQueue(), store.newQueue()]
    expect(queue).not.toBe(other)
    await store.queues.push(queue, { items: [item] })
    const popped = await store.queues.pop(queue, { requireAck: true, ttlSeconds: 30 })
    expect(popped).toMatchObject({ kind: 'items', items: [{ ...item, deliveries: 1 }] })
    expect((await store.queues.inspect(other)).count).toBe(0)
  })

  it('live in a time that the test moves: a lock expires, and an item that came back too often is dead.', async () => {
    // Locks that other tests left.
    await store.moveTime(301_000)
    const queue = store.newQueue()
    await store.queues.configure(queue, { maxDeliveries: 2 })
    await store.queues.push(queue, { items: [item] })
    await store.queues.pop(queue, { requireAck: true, ttlSeconds: 30 })
    expect(await store.moveTime(20_000)).toMatchObject({ itemsReturned: 0 })
    expect(await store.moveTime(11_000)).toMatchObject({ itemsReturned: 1, itemsDeadLettered: 0 })
    const again = await store.queues.pop(queue, { requireAck: true, ttlSeconds: 30 })
    expect(again).toMatchObject({ kind: 'items', items: [{ ...item, deliveries: 2 }] })
    expect(await store.moveTime(31_000)).toMatchObject({ itemsDeadLettered: 1 })
    const { items } = await store.queues.browse(`${queue}-deadletter`)
    expect(items).toMatchObject([{ ...item, reason: 'max_deliveries', priorDeliveries: 2 }])
    expect((await store.queues.inspect(queue)).count).toBe(0)
  })

  it('keep their items as they are when a test moves the time by a fraction, as for a limit of three a second.', async () => {
    const queue = store.newQueue()
    await store.moveTime(1_000 / 3)
    expect(store.clock.nowMs()).toSatisfy(Number.isInteger)
    await store.queues.push(queue, { items: [item], idempotencyKey: 'once' })
    expect(await store.queues.pop(queue)).toMatchObject({ items: [item] })
  })

  it('cannot go where the times of PushPop end.', async () => {
    await expect(store.moveTime(1e15)).rejects.toThrow('times end on 2059-05-25')
    expect(store.clock.nowMs()).toBeLessThan(36 ** 8)
  })

  it('cannot go back in time.', async () => {
    await expect(store.moveTime(-1)).rejects.toThrow('Cannot move the time by -1 ms')
  })

  it('wake a consumer, which lives in the same time: what a dead process had locked comes to it.', async () => {
    Object.assign(process.env, store.environment)
    const seen: object[] = []
    const handler = consumer<{ order: number }>(async ([first], context) => {
      // By the time of the test this lock lives; by the system's it would have ended minutes ago.
      const { lockedCount } = await store.queues.inspect(context.queue, { consistent: true })
      seen.push({ deliveries: first?.deliveries, lockedCount })
      expect(context.remainingMs()).toBeGreaterThan(0)
    })
    const queue = store.newQueue()
    await store.queues.push(queue, { items: [item] })
    await store.queues.pop(queue, { requireAck: true, ttlSeconds: 300 })
    expect(await store.wake(queue, handler)).toMatchObject({ ended: 'locked', acknowledged: 0 })
    await store.moveTime(301_000)
    expect(await store.wake(queue, handler)).toMatchObject({ ended: 'empty', acknowledged: 1 })
    expect(seen).toEqual([{ deliveries: 2, lockedCount: 1 }])
  })

  it('do not wait for retries, which come in the time of the test, in their order and within the run’s time.', async () => {
    Object.assign(process.env, store.environment)
    const { clock } = store
    const tried: { order: number; atMs: number }[] = []
    const handler = consumer<{ order: number }>(
      ([first]) => {
        if (first === undefined) return
        tried.push({ order: first.value.order, atMs: clock.nowMs() })
        if (first.value.order === 17) throw new Error('not now')
      },
      { retry: { delays: ['5s'] }, maxDeliveries: 4 },
    )
    const queue = store.newQueue()
    await store.queues.push(queue, { items: [item, { text: '{"order":18}' }] })
    expect(await store.wake(queue, handler)).toMatchObject({
      ended: 'empty',
      released: 3,
      deadLettered: 1,
      acknowledged: 1,
    })
    expect(tried.map(({ order }) => order)).toEqual([17, 17, 17, 17, 18])
    for (const [at, { atMs }] of tried.slice(1, 4).entries()) {
      expect(atMs - (tried[at]?.atMs ?? 0)).toBeGreaterThanOrEqual(5_000)
    }

    // What always fails is tried for the minute of a run, and not for ever.
    const failing = consumer(
      () => {
        throw new Error('never')
      },
      { retry: { delays: ['5s'] } },
    )
    await store.queues.push(queue, { items: [item] })
    const { ended, released } = await store.wake(queue, failing)
    expect(ended).toBe('waiting')
    expect(released).toBeLessThanOrEqual(12)
  })

  it('wait for a retry while another run is at work, whose lock would not outlive a leap in time.', async () => {
    Object.assign(process.env, store.environment)
    const { clock } = store
    const aheadMs = () => Math.round((clock.nowMs() - Date.now()) / 100)
    const before = aheadMs()
    const gate = Promise.withResolvers<void>()
    const slow = consumer(() => gate.promise)
    const failing = consumer(
      ([first]) => {
        if (first?.deliveries === 1) throw new Error('not now')
      },
      { retry: { delays: ['1s'] } },
    )
    const [one, other] = [store.newQueue(), store.newQueue()]
    await store.queues.push(one, { items: [item] })
    await store.queues.push(other, { items: [item] })
    const working = store.wake(one, slow)
    expect(await store.wake(other, failing)).toMatchObject({ released: 1, acknowledged: 1 })
    expect(aheadMs()).toBe(before)
    gate.resolve()
    expect(await working).toMatchObject({ acknowledged: 1 })
  })

  it('keep the lines of a consumer’s runs out of a test’s output until somebody asks for them.', async () => {
    Object.assign(process.env, store.environment)
    delete process.env.PUSHPOP_LOG_LEVEL
    const written: string[] = []
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.push(String(text))
      return true
    })
    const handler = consumer<{ order: number }>(([first]) => {
      if (first?.value.order === 18) throw new Error('no such order')
    })
    try {
      const queue = store.newQueue()
      await store.queues.push(queue, { items: [item] })
      await store.wake(queue, handler)
      expect(written).toEqual([])
      process.env.PUSHPOP_LOG_LEVEL = 'info'
      await store.wake(queue, handler)
      expect(written.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'info', message: 'run', queue, ended: 'empty', _aws: {} },
      ])
      // What failed is no noise.
      delete process.env.PUSHPOP_LOG_LEVEL
      written.length = 0
      await store.queues.configure(queue, { maxDeliveries: 1 })
      await store.queues.push(queue, { items: [{ text: '{"order":18}' }] })
      await store.wake(queue, handler)
      expect(written.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'error', message: 'handler failed', error: { message: 'no such order' } },
      ])
    } finally {
      spy.mockRestore()
    }
  })

  it('are found by a consumer’s handler through the environment.', async () => {
    Object.assign(process.env, store.environment, { PUSHPOP_LOG_LEVEL: 'error' })
    const orders: number[] = []
    const handler = consumer<{ order: number }>((items) => {
      for (const { value } of items) orders.push(value.order)
    })
    const queue = store.newQueue()
    await store.queues.push(queue, { items: [item] })
    expect(await handler({ detail: { queue } })).toMatchObject({ ended: 'empty', acknowledged: 1 })
    expect(orders).toEqual([17])
  })

  it('are found by another process through the environment, also where the items are in S3.', async () => {
    const queue = store.newQueue()
    const large = () => JSON.stringify(randomBytes(75_000).toString('hex'))
    const items = Array.from({ length: 4 }, () => ({ text: large() }))
    await store.queues.push(queue, { items })
    const lambdas = join(import.meta.dirname, '../../lambdas')
    const code = `
      import { createServices } from '${lambdas}/runtime/services.ts'
      import { logOf } from '${lambdas}/runtime/log.ts'
      const popped = await createServices(process.env, logOf(process.env)).pop('${queue}', { count: 4 })
      console.log(popped.items.map(({ text }) => text.length).join())`
    const args = ['--input-type=module', '-e', code]
    const env = { PATH: process.env.PATH, ...store.environment }
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    expect(stdout).toBe('150002,150002,150002,150002\n')
  })
})
