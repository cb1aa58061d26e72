import { describe, expect, it } from 'vitest'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import { type EngineOnWire, openSimulated } from './stage.ts'
import { expectCode, lockItems, named, popItems, push } from './traffic.ts'

// `push_limit` and `pop_limit`: how often a queue is pushed to and popped from, by anybody.

const stage = openSimulated()

const MINUTE_MS = 60_000
const limit = (maxRequests: number, windowMillis = MINUTE_MS) => ({ maxRequests, windowMillis })

async function limited(
  change: Parameters<EngineOnWire['configure']>[1],
): Promise<{ queues: EngineOnWire; queue: string }> {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, change)
  // At a window's beginning, so that no test runs over its edge.
  stage.clock.pass(MINUTE_MS - (stage.clock.nowMs() % MINUTE_MS))
  return { queues, queue }
}

const one = (queues: EngineOnWire, queue: string, name: string) =>
  push(queues, queue, named(name, 1))

describe('A push limit', () => {
  it('holds for all processes together, for those as well that never saw the queue.', async () => {
    const { queue } = await limited({ pushLimit: limit(5) })
    const codes = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        one(stage.engine(), queue, `p${i}-`).then(() => 'pushed', codeOfError),
      ),
    )
    expect(codes.filter((code) => code === 'pushed')).toHaveLength(5)
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(7)
    expect((await stage.engine().inspect(queue)).count).toBe(5)
  })

  it('says when to try again, and then it goes.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(1) })
    await one(queues, queue, 'a')
    stage.clock.pass(20_000)
    const error = await one(queues, queue, 'b').catch((error: unknown) => error)
    expect(error).toBeInstanceOf(QueueError)
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryable: true, retryAfterMs: 40_000 })
    expect((error as QueueError).message).toBe(
      `Cannot push because queue "${queue}" has a push_limit of 1 in 60000 ms; try again in 40000 ms`,
    )
    stage.clock.pass(40_000)
    await one(queues, queue, 'b')
  })

  it('counts calls, not items, and costs one request each.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(2) })
    await push(queues, queue, named('a', 50))
    const sent = await queues.wire.during(() => push(queues, queue, named('b', 50)))
    // The slot, the batch, the record.
    expect(sent).toEqual(['UpdateCommand', 'PutCommand', 'UpdateCommand'])
    await expectCode(push(queues, queue, named('c', 1)), 'RATE_LIMITED')
  })

  it('denies from memory: a caller far above it costs nothing.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(1) })
    await one(queues, queue, 'a')
    await expectCode(one(queues, queue, 'b'), 'RATE_LIMITED')
    const sent = await queues.wire.during(async () => {
      for (let i = 0; i < 100; i += 1) {
        await expectCode(push(queues, queue, named('c', 1_000)), 'RATE_LIMITED')
      }
    })
    expect(sent).toEqual([])
  })

  it('leaves a queue without one alone: a cold process pushes with one request.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { popLimit: limit(1) })
    await one(queues, queue, 'a')
    const cold = stage.engine()
    const sent = await cold.wire.during(() => one(cold, queue, 'b'))
    expect(sent.filter((name) => name !== 'UpdateCommand')).toEqual([])
    const warm = await cold.wire.during(() => one(cold, queue, 'c'))
    expect(warm).toEqual(['UpdateCommand'])
  })

  it('that comes while a process remembers none holds at its next push.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await one(queues, queue, 'a')
    await stage.engine().configure(queue, { pushLimit: limit(1) })
    await one(queues, queue, 'b')
    await expectCode(one(queues, queue, 'c'), 'RATE_LIMITED')
  })

  it.each([
    ['lowered', limit(1)],
    ['smooth', { ...limit(1), algorithm: 'smooth' as const }],
  ])('that is %s holds for those as well who remember the one before.', async (_, lowered) => {
    const { queues, queue } = await limited({ pushLimit: limit(100, 1_000) })
    const old = stage.engine()
    await one(queues, queue, 'a')
    await one(old, queue, 'b')
    stage.clock.pass(5_000)
    await queues.configure(queue, { pushLimit: lowered })
    // The one that remembers comes first: who configured the queue would tell the limit's row.
    await one(old, queue, 'c')
    stage.clock.pass(2_000)
    for (const process of [old, queues, stage.engine(), old]) {
      await expectCode(one(process, queue, 'd'), 'RATE_LIMITED')
    }
  })

  it('that is gone when its row knows more than a process does, denies it nothing.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(9) })
    const old = stage.engine()
    await one(old, queue, 'a')
    await queues.configure(queue, { pushLimit: limit(1) })
    await expectCode(one(queues, queue, 'b'), 'RATE_LIMITED')
    await stage.engine().configure(queue, { pushLimit: limit(5) })
    await one(stage.engine(), queue, 'c')
    await stage.engine().configure(queue, { pushLimit: null })
    await one(old, queue, 'd')
  })

  it('that is raised or taken away is felt within ten seconds by who is denied.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(1) })
    await one(queues, queue, 'a')
    await stage.engine().configure(queue, { pushLimit: limit(2) })
    await expectCode(one(queues, queue, 'b'), 'RATE_LIMITED')
    stage.clock.pass(10_001)
    await one(queues, queue, 'b')
    await expectCode(one(queues, queue, 'c'), 'RATE_LIMITED')
    await stage.engine().configure(queue, { pushLimit: null })
    stage.clock.pass(10_001)
    await one(queues, queue, 'c')
    await one(queues, queue, 'd')
  })

  it.each([
    [
      'with an Idempotency-Key',
      (queues: EngineOnWire, queue: string) =>
        queues.push(queue, { items: [{ text: '1' }], idempotencyKey: `k${Math.random()}` }),
    ],
    [
      'in 100 lanes at once',
      (queues: EngineOnWire, queue: string) =>
        queues.push(queue, {
          items: Array.from({ length: 100 }, (_, priority) => ({ text: '1', priority })),
        }),
    ],
    [
      'as a part of a transaction',
      (queues: EngineOnWire, queue: string) => queues.pushTransactItem(queue, { text: '1' }),
    ],
  ])('holds for a push %s.', async (_, call) => {
    const { queues, queue } = await limited({ pushLimit: limit(2) })
    await call(queues, queue)
    await call(stage.engine(), queue)
    await expectCode(call(queues, queue), 'RATE_LIMITED')
    await expectCode(call(stage.engine(), queue), 'RATE_LIMITED')
  })

  it('refuses a transaction whose entry was made before there was a limit.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const entry = await queues.pushTransactItem(queue, { text: '1' })
    await queues.configure(queue, { pushLimit: limit(1) })
    expect(entry.Update.ConditionExpression).toContain('attribute_not_exists(cfg.pl)')
    const admitted = await queues.pushTransactItem(queue, { text: '1' })
    expect(admitted.Update.ConditionExpression).toContain('OR cfg.pl=')
  })

  it('does not hold up what the service moves: dead letters, and what is redriven.', async () => {
    const { queues, queue } = await limited({ pushLimit: limit(1), maxDeliveries: 1 })
    const dead = deadLetterQueueOf(queue)
    await queues.configure(dead, { pushLimit: limit(1) })
    await push(queues, queue, named('a', 3))
    const { lock } = await lockItems(queues, queue, { count: 3 })
    await queues.deadLetter(queue, { lockId: lock.id })
    await queues.housekeep(queue)
    expect((await queues.inspect(dead, { consistent: true })).count).toBe(3)
    await queues.redrive(dead)
    expect((await queues.inspect(queue, { consistent: true })).count).toBe(3)
  })

  it('leaves no batch behind of a push that it refuses.', async () => {
    const { queue } = await limited({ pushLimit: limit(1) })
    await push(stage.engine(), queue, named('a', 1_000))
    const before = (await stage.rows(queue, 'b')).length
    await expectCode(push(stage.engine(), queue, named('b', 1_000)), 'RATE_LIMITED')
    expect(await stage.rows(queue, 'b')).toHaveLength(before)
  })

  it('whose row is out of reach refuses, and says that nothing was changed.', async () => {
    const { queue } = await limited({ pushLimit: limit(5) })
    const queues = stage.engine({
      after({ input }) {
        if (JSON.stringify(input.Key).includes('r#push~')) throw lost()
      },
    })
    const error = await one(queues, queue, 'a').catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: undefined })
    expect((error as QueueError).message).toContain('nothing was changed')
    expect((await stage.engine().inspect(queue)).count).toBe(0)
  })
})

describe('A pop limit', () => {
  it.each([
    ['without a lock', {}],
    ['with an exclusive lock', { requireAck: true, ttlSeconds: 1 }],
    ['competing', { requireAck: true, competing: true }],
  ])('holds for all processes together, %s.', async (_, request) => {
    const { queues, queue } = await limited({})
    await push(queues, queue, named('a', 20))
    const warm = stage.engine()
    await warm.pop(queue, { requireAck: true, competing: true })
    await queues.configure(queue, { popLimit: limit(3) })
    let popped = 0
    const told: string[] = []
    for (const engine of [warm, stage.engine(), warm, stage.engine(), warm, stage.engine()]) {
      const outcome = await engine.pop(queue, request).catch(codeOfError)
      told.push(typeof outcome === 'string' ? outcome : outcome.kind)
      if (typeof outcome !== 'string' && outcome.kind === 'items') popped += outcome.items.length
    }
    expect(told.filter((kind) => kind === 'RATE_LIMITED')).toHaveLength(3)
    expect(popped).toBeLessThanOrEqual(3)
  })

  it('that refuses acknowledges nothing either: the lock lives on.', async () => {
    const { queues, queue } = await limited({ popLimit: limit(1) })
    await push(queues, queue, named('a', 2))
    const { lock } = await lockItems(queues, queue, { count: 1 })
    await expectCode(queues.pop(queue, { requireAck: true, acknowledge: lock.id }), 'RATE_LIMITED')
    expect(await queues.acknowledge(queue, { lockId: lock.id })).toEqual({ itemsAcknowledged: 1 })
  })

  it('counts a pop of an empty queue as well, and leaves pushes alone.', async () => {
    const { queues, queue } = await limited({ popLimit: limit(1) })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    await push(queues, queue, named('a', 1))
    await expectCode(queues.pop(queue), 'RATE_LIMITED')
    stage.clock.pass(MINUTE_MS)
    expect((await popItems(queues, queue)).items).toHaveLength(1)
  })

  it('and a push limit of one queue do not share their slots.', async () => {
    const { queues, queue } = await limited({ popLimit: limit(1), pushLimit: limit(1) })
    await push(queues, queue, named('a', 1))
    expect((await popItems(queues, queue)).items).toHaveLength(1)
    await expectCode(push(queues, queue, named('b', 1)), 'RATE_LIMITED')
    await expectCode(queues.pop(queue), 'RATE_LIMITED')
  })
})

describe('A clock far off the gateway’s', () => {
  it.each([-6_000, 16_000])('by %i ms counts nothing: neither a push nor a pop.', async (offMs) => {
    const { queues, queue } = await limited({ pushLimit: limit(9), popLimit: limit(9) })
    const receivedMs = stage.clock.nowMs() - offMs
    const items = named('a', 1)
    for (const call of [
      () => queues.push(queue, { items, receivedMs }),
      () => stage.engine().push(queue, { items, receivedMs }),
      () => queues.push(queue, { items, receivedMs, idempotencyKey: 'k' }),
      () => queues.pop(queue, { receivedMs }),
    ]) {
      await expectCode(call(), 'STORE_UNAVAILABLE')
    }
    const rows = (await stage.store.rows()).filter(({ pk }) => String(pk).includes(`~${queue}#`))
    expect(rows).toEqual([])
    await queues.push(queue, { items, receivedMs: stage.clock.nowMs() - 14_000 })
    // Who has no limit is not asked the time.
    expect(await stage.engine().push(stage.queue(), { items, receivedMs })).toBeDefined()
  })
})

const codeOfError = (error: unknown): string => (error as QueueError).code
const lost = () => Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
