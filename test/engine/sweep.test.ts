import { describe, expect, it } from 'vitest'
import { shardOf } from '../../engine/core/keys.ts'
import { REMIND_AFTER_SECONDS } from '../../engine/core/limits.ts'
import { openSimulated, type Stage, useEmbedded } from './stage.ts'
import { drain, expectCode, lockItems, named, push, pushOneByOne, textsOf } from './traffic.ts'
import { throttled, timedOut } from './wire.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Queues with one expired lock of one item each. */
async function expiredQueues(stage: Stage, count: number): Promise<string[]> {
  const queues = stage.engine()
  const ids = Array.from({ length: count }, () => stage.queue())
  for (const queue of ids) {
    await push(queues, queue, named('a', 2))
    await lockItems(queues, queue, { ttlSeconds: 1 })
  }
  stage.clock.pass(SECOND_MS)
  return ids
}

const locksIn = async (stage: Stage, ids: readonly string[]): Promise<number> => {
  const records = await Promise.all(ids.map((id) => stage.record(id)))
  return records.reduce((sum, { locks }) => sum + locks.size, 0)
}

describe('The sweeper', () => {
  const stage = useEmbedded()

  it('ends expired locks of all due queues, and leaves those that live.', async () => {
    const due = await expiredQueues(stage, 30)
    const alive = stage.queue()
    await push(stage.engine(), alive, named('a', 1))
    const { lock } = await lockItems(stage.engine(), alive, { ttlSeconds: 60 })
    const report = await stage.engine().returnExpiredLocks()
    expect(report).toEqual({
      queues: 30,
      itemsReturned: 30,
      itemsDeadLettered: 0,
      occurrencesPushed: 0,
      lagMs: 0,
      failed: [],
      more: false,
      nextDueMs: lock.expiresAtMs,
    })
    expect(await locksIn(stage, due)).toBe(0)
    expect(await locksIn(stage, [alive])).toBe(1)
    expect(await stage.engine().returnExpiredLocks()).toMatchObject({ queues: 0 })
  })

  it('tells when the first queue comes due that it has left with a lock, before it begins what may take long.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding(named('a', 2))
    await lockItems(queues, queue, { ttlSeconds: 5, competing: true })
    const { lock } = await lockItems(queues, queue, { ttlSeconds: 25, competing: true })
    stage.clock.pass(5 * SECOND_MS)
    const told: number[] = []
    const { nextDueMs } = await queues.returnExpiredLocks({
      onNext: (dueMs) => told.push(dueMs),
    })
    expect([nextDueMs, ...told]).toEqual([lock.expiresAtMs, lock.expiresAtMs])
    expect((await stage.record(queue)).checkAtMs).toBe(lock.expiresAtMs)
  })

  it('visits no more queues than it was told, and the next run goes on.', async () => {
    const due = await expiredQueues(stage, 25)
    const sizes: number[] = []
    for (let run = 0; run < 20; run += 1) {
      const { queues, more } = await stage.engine().returnExpiredLocks({ queuesMax: 7 })
      sizes.push(queues)
      if (!more) break
    }
    expect(sizes.reduce((sum, queues) => sum + queues, 0)).toBe(25)
    expect(Math.max(...sizes)).toBe(7)
    expect(await locksIn(stage, due)).toBe(0)
  })

  it('stops at its deadline.', async () => {
    const due = await expiredQueues(stage, 3)
    const deadlineMs = stage.clock.nowMs()
    const report = await stage.engine().returnExpiredLocks({ deadlineMs })
    expect(report).toMatchObject({ queues: 0, more: true })
    expect(await locksIn(stage, due)).toBe(3)
    await stage.engine().returnExpiredLocks()
  })

  it('is not held up by a queue that fails, and comes back to it.', async () => {
    const due = await expiredQueues(stage, 20)
    const broken = due[7] as string
    const failing = stage.engine({
      before: ({ name, input }) => {
        const { pk } = (input.Key ?? {}) as { pk?: string }
        if (name === 'UpdateCommand' && pk === `q#${broken}`) throw new Error('broken')
      },
    })
    const report = await failing.returnExpiredLocks()
    expect(report).toMatchObject({ queues: 20, itemsReturned: 19, failed: [{ queue: broken }] })
    expect(await locksIn(stage, due)).toBe(1)
    expect(await stage.engine().returnExpiredLocks()).toMatchObject({
      queues: 1,
      itemsReturned: 1,
      failed: [],
    })
  })

  it('is not held up by a record that the store does not give, and tells of it.', async () => {
    const hot = { pk: '' }
    const throttling = openSimulated({ throttlesRead: ({ pk }) => pk === hot.pk })
    const due = await expiredQueues(throttling, 150)
    throttling.clock.pass(20 * SECOND_MS)
    const queue = due[7] as string
    hot.pk = `q#${queue}`
    for (let run = 0; run < 3; run += 1) {
      const report = await throttling.engine().returnExpiredLocks()
      expect(report).toMatchObject({
        itemsReturned: run === 0 ? 149 : 0,
        failed: [{ queue, error: { code: 'STORE_UNAVAILABLE' } }],
        more: true,
      })
      // Of the queue that was met and not served.
      expect(report.lagMs).toBeGreaterThanOrEqual(20 * SECOND_MS)
    }
    hot.pk = ''
    expect(await throttling.engine().returnExpiredLocks()).toMatchObject({
      itemsReturned: 1,
      failed: [],
      more: false,
    })
  })

  it('passes a shard whose index cannot be read, and fails if there is no other.', async () => {
    const down = { shards: [3] }
    const throttling = openSimulated({
      throttlesRead: ({ pk, index }) => index === 'check' && down.shards.includes(pk as number),
    })
    const due = await expiredQueues(throttling, 60)
    const inShard = due.filter((queue) => shardOf(queue) === 3).length
    expect(inShard).toBeGreaterThan(0)
    const report = await throttling.engine().returnExpiredLocks()
    expect(report).toMatchObject({
      itemsReturned: 60 - inShard,
      failed: [{ shard: 3, error: { code: 'STORE_UNAVAILABLE' } }],
      more: true,
    })
    down.shards = Array.from({ length: 16 }, (_, shard) => shard)
    await expectCode(throttling.engine().returnExpiredLocks(), 'STORE_UNAVAILABLE')
  })

  const faults: readonly [string, (stage: Stage) => Error][] = [
    [
      'whose answers are lost',
      (throttling) => {
        throttling.clock.pass(3 * SECOND_MS)
        return timedOut()
      },
    ],
    ['that throttles', throttled],
    [
      'in which a transaction is always in the way',
      () => Object.assign(new Error(), { name: 'TransactionConflictException' }),
    ],
  ]
  it.each(faults)('ends in time with a store %s.', async (_, fault) => {
    const slow = openSimulated()
    await expiredQueues(slow, 1)
    const queues = slow.engine({
      before: ({ name }) => {
        if (name === 'UpdateCommand') throw fault(slow)
      },
    })
    const deadlineMs = slow.clock.nowMs() + SECOND_MS
    const report = await queues.returnExpiredLocks({ deadlineMs })
    // One answer is waited for, and no more.
    expect(slow.clock.nowMs()).toBeLessThan(deadlineMs + 3.5 * SECOND_MS)
    expect(report).toMatchObject({ itemsReturned: 0, more: true })
    expect(report.failed).toHaveLength(1)
  })

  it('leaves the rest of a queue’s locks when the time is up, and the next run goes on.', async () => {
    const slow = openSimulated()
    const queue = slow.queue()
    await push(slow.engine(), queue, named('a', 150))
    for (let lock = 0; lock < 130; lock += 1) {
      await lockItems(slow.engine(), queue, { competing: true, ttlSeconds: 2 })
    }
    slow.clock.pass(2 * SECOND_MS)
    const queues = slow.engine({
      after: ({ name }) => {
        if (name === 'UpdateCommand') slow.clock.pass(SECOND_MS)
      },
    })
    const deadlineMs = slow.clock.nowMs() + 2 * SECOND_MS
    expect(await queues.returnExpiredLocks({ deadlineMs })).toMatchObject({
      itemsReturned: 80,
      failed: [],
      more: true,
    })
    expect(await queues.returnExpiredLocks()).toMatchObject({ itemsReturned: 50, more: false })
  })

  it('folds what was acknowledged, so that room returns to a queue nobody touches.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { lock } = await lockItems(queues, queue, { ttlSeconds: 5 })
    await queues.acknowledge(queue, { lockId: lock.id })
    expect(await stage.record(queue)).toMatchObject({ room: 0, inFlight: 1 })
    stage.clock.pass(5 * SECOND_MS)
    await queues.returnExpiredLocks()
    expect(await stage.record(queue)).toMatchObject({ room: 1, inFlight: 0 })
  })

  it('moves its timer on to the lock that ends next.', async () => {
    const { queues, queue } = await stage.holding(named('a', 3))
    for (const ttlSeconds of [10, 40, 20]) {
      await lockItems(queues, queue, { ttlSeconds, competing: true })
    }
    const startMs = stage.clock.nowMs()
    for (const [after, next, returned] of [
      [10, 20, 1],
      [20, 40, 1],
      // Nobody has a lock any more: then whether somebody came for them is looked at.
      [40, 40 + REMIND_AFTER_SECONDS, 1],
    ] as const) {
      stage.clock.now = startMs + after * SECOND_MS
      expect(await queues.returnExpiredLocks()).toMatchObject({ itemsReturned: returned })
      const { checkAtMs } = await stage.record(queue)
      expect(Math.ceil(checkAtMs ?? 0)).toBe(startMs + next * SECOND_MS)
    }
    expect(textsOf(await drain(queues, queue))).toEqual(textsOf(named('a', 3)))
  })

  it('ends more locks than one write can.', async () => {
    const { queues, queue } = await stage.holding(named('a', 150))
    for (let lock = 0; lock < 130; lock += 1) {
      await lockItems(queues, queue, { competing: true, ttlSeconds: 2 })
    }
    stage.clock.pass(2 * SECOND_MS)
    expect(await queues.returnExpiredLocks()).toMatchObject({ itemsReturned: 130, failed: [] })
    expect(await locksIn(stage, [queue])).toBe(0)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('a', 150)))
  })
})

describe('With an index that lags behind', () => {
  it('two sweepers at once return each item once.', async () => {
    const stage = openSimulated()
    await expiredQueues(stage, 40)
    const reports = await Promise.all([1, 2, 3].map(() => stage.engine().returnExpiredLocks()))
    expect(reports.flatMap(({ failed }) => failed)).toEqual([])
    expect(reports.reduce((sum, { itemsReturned }) => sum + itemsReturned, 0)).toBe(40)
  })
})

describe('An empty queue that nobody configured', () => {
  const setUp = async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), 'orders']
    await pushOneByOne(queues, queue, named('a', 150))
    await push(queues, queue, named('b', 300, 5))
    const taken = await lockItems(queues, queue, { count: 100 })
    await queues.acknowledge(queue, { lockId: taken.lock.id })
    await drain(queues, queue)
    return { stage, queues, queue, lockId: taken.lock.id }
  }
  const sweep = async (stage: Stage, runs = 3) => {
    for (let run = 0; run < runs; run += 1) await stage.engine().returnExpiredLocks()
  }

  it('is forgotten ten minutes later with all it had, not before.', async () => {
    const { stage, queue, queues, lockId } = await setUp()
    stage.clock.pass(9 * MINUTE_MS)
    await sweep(stage)
    expect(await queues.acknowledge(queue, { lockId })).toEqual({ itemsAcknowledged: 100 })
    stage.clock.pass(2 * MINUTE_MS)
    await sweep(stage)
    expect(await stage.stored(queue)).toBeUndefined()
    expect(await stage.store.rows()).toEqual([])
    expect(await stage.store.objects()).toEqual([])
  })

  it('is used again as if new, also by a process that remembers the old one.', async () => {
    const { stage, queue, queues, lockId } = await setUp()
    // Every verb of the warm process meets a queue made anew by another.
    stage.clock.pass(11 * MINUTE_MS)
    await sweep(stage)
    await expectCode(queues.acknowledge(queue, { lockId }), 'LOCK_NOT_FOUND')
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    await push(queues, queue, named('c', 3))
    const other = stage.engine()
    const held = await lockItems(other, queue, { count: 2, competing: true })
    expect(held.items).toMatchObject([
      { text: '"c0"', deliveries: 1 },
      { text: '"c1"', deliveries: 1 },
    ])
    await drain(queues, queue).catch(() => {})
    await other.acknowledge(queue, { lockId: held.lock.id })
    expect(textsOf(await drain(queues, queue))).toEqual(['"c2"'])
  })

  it.each(['push', 'pop', 'claim', 'acknowledge', 'release', 'extend', 'purge', 'push with a key'])(
    'made anew behind the back of a warm process is right for its %s.',
    async (verb) => {
      const stage = openSimulated()
      const [warm, queue] = [stage.engine(), 'orders']
      await push(warm, queue, named('a', 3))
      const old = await lockItems(warm, queue, { count: 3, competing: true })
      await warm.acknowledge(queue, { lockId: old.lock.id })
      // Others see to it that it goes and comes again.
      stage.clock.pass(MINUTE_MS)
      await sweep(stage)
      stage.clock.pass(11 * MINUTE_MS)
      await sweep(stage)
      expect(await stage.stored(queue)).toBeUndefined()
      const other = stage.engine()
      await push(other, queue, named('n', 4))
      const lockId = old.lock.id
      const competing = { requireAck: true, competing: true }
      const texts: string[] = []
      switch (verb) {
        case 'push':
          await push(warm, queue, named('n', 1, 0, 4))
          break
        case 'push with a key':
          await warm.push(queue, { items: named('n', 1, 0, 4), idempotencyKey: 'key' })
          break
        case 'pop':
          texts.push(...textsOf((await lockItems(warm, queue, { count: 2 })).items))
          break
        case 'claim':
          texts.push(...textsOf((await lockItems(warm, queue, competing)).items))
          break
        case 'purge':
          expect(await warm.purge(queue)).toEqual({ itemsPurged: 4 })
          return
        case 'acknowledge':
          await expectCode(warm.acknowledge(queue, { lockId }), 'LOCK_NOT_FOUND')
          break
        case 'release':
          await expectCode(warm.release(queue, { lockId }), 'LOCK_NOT_FOUND')
          break
        default:
          await expectCode(warm.extend(queue, { lockId, ttlSeconds: 5 }), 'LOCK_NOT_FOUND')
      }
      expect(texts).toEqual(textsOf(named('n', texts.length)))
      stage.clock.pass(MINUTE_MS)
      const all = verb.startsWith('push') ? 5 : 4
      expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('n', all)))
    },
  )
})
