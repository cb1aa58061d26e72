import { describe, expect, it } from 'vitest'
import { isRetry } from '../../engine/core/settling.ts'
import type { Queues } from '../../engine/queues.ts'
import { openSimulated, useEmbedded } from './stage.ts'
import {
  codeOf,
  drain,
  expectCode,
  idsOf,
  lockItems,
  named,
  popItems,
  push,
  textsOf,
} from './traffic.ts'

const stage = useEmbedded()

const SECOND_MS = 1_000
const HOUR_SECONDS = 3_600
const HOUR_MS = HOUR_SECONDS * SECOND_MS

/** Six items, of which two were released to come back in an hour. */
async function released(options: { overtake?: boolean; competing?: boolean } = {}) {
  const { overtake = false, competing = false } = options
  const { queues, queue } = await stage.holding(named('a', 6))
  const { lock, items } = await lockItems(queues, queue, { count: 2, competing })
  const request = { lockId: lock.id, delaySeconds: HOUR_SECONDS, overtake }
  expect(await queues.release(queue, request)).toEqual({ itemsReleased: 2 })
  return { queues, queue, lockId: lock.id, items, request, dueMs: stage.clock.nowMs() + HOUR_MS }
}

const statesOf = async (queues: Queues, queue: string) =>
  (await queues.browse(queue)).items.map(({ state }) => state)

describe('What is released with a delay', () => {
  it('is not to be had before its time, and is first again then, in order.', async () => {
    const { queues, queue } = await released({ overtake: true })
    stage.clock.pass(HOUR_MS - 1)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a2"'])
    stage.clock.pass(1)
    const items = await drain(queues, queue)
    expect(textsOf(items)).toEqual(['"a0"', '"a1"', '"a3"', '"a4"', '"a5"'])
    expect(items.map(({ deliveries }) => deliveries)).toEqual([2, 2, 1, 1, 1])
  })

  it('keeps the others of an exclusive queue waiting, and says until when.', async () => {
    const { queues, queue, dueMs } = await released()
    const locked = { kind: 'locked', expiresAtMs: dueMs, forRetry: true }
    expect(await queues.pop(queue)).toEqual(locked)
    expect(await queues.pop(queue, { requireAck: true })).toEqual(locked)
    stage.clock.pass(HOUR_MS)
    expect(textsOf(await drain(queues, queue))[0]).toBe('"a0"')
  })

  it('keeps no competing consumer waiting, with a lock or without.', async () => {
    const { queues, queue } = await released({ competing: true })
    const [two] = (await lockItems(queues, queue, { competing: true })).items
    const [three] = (await popItems(queues, queue, { competing: true })).items
    expect([two?.text, three?.text]).toEqual(['"a2"', '"a3"'])
  })

  it('keeps no pop waiting if the others may overtake it, until a lock of theirs does.', async () => {
    const { queues, queue } = await released({ overtake: true })
    const { items, lock } = await lockItems(queues, queue, { count: 9 })
    expect(textsOf(items)).toEqual(['"a2"', '"a3"', '"a4"', '"a5"'])
    expect(await queues.pop(queue)).toMatchObject({ kind: 'locked', expiresAtMs: lock.expiresAtMs })
    await queues.acknowledge(queue, { lockId: lock.id })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('may be some items of a lock; the rest stays locked.', async () => {
    const { queues, queue } = await stage.holding(named('a', 4))
    const { lock, items } = await lockItems(queues, queue, { count: 3 })
    const ids = idsOf(items).slice(0, 1)
    const request = { lockId: lock.id, ids, delaySeconds: 60, overtake: true }
    expect(await queues.release(queue, request)).toEqual({ itemsReleased: 1 })
    expect(await statesOf(queues, queue)).toEqual(['waiting', 'locked', 'locked', 'ready'])
    expect(await queues.acknowledge(queue, { lockId: lock.id })).toEqual({ itemsAcknowledged: 2 })
    stage.clock.pass(60 * SECOND_MS)
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"', '"a3"'])
  })

  it('may be named again, after an answer that was lost, beside others or alone.', async () => {
    const { queues, queue } = await stage.holding(named('a', 4))
    const { lock, items } = await lockItems(queues, queue, { count: 3 })
    const ids = idsOf(items)
    const request = { lockId: lock.id, delaySeconds: 60, overtake: true }
    const first = { ...request, ids: ids.slice(0, 1) }
    expect(await queues.release(queue, first)).toEqual({ itemsReleased: 1 })
    expect(await queues.release(queue, first)).toEqual({ itemsReleased: 1 })
    const more = { ...request, ids: ids.slice(0, 2) }
    expect(await queues.release(queue, more)).toEqual({ itemsReleased: 2 })
    expect(await statesOf(queues, queue)).toEqual(['waiting', 'waiting', 'locked', 'ready'])
    for (const settle of [queues.release, queues.acknowledge, queues.deadLetter]) {
      const again = settle(queue, { lockId: lock.id, ids: ids.slice(0, 1) })
      await expectCode(again, 'INVALID_PARAMETER')
    }
  })

  it('is all of a lock, too, where its ids are named.', async () => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const { lock, items } = await lockItems(queues, queue, { count: 2 })
    await queues.release(queue, { lockId: lock.id, ids: idsOf(items), delaySeconds: 60 })
    expect(await statesOf(queues, queue)).toEqual(['waiting', 'waiting'])
    expect(await codeOf(queues.acknowledge(queue, { lockId: lock.id }))).toBe('LOCK_EXPIRED')
  })

  it('with a delay of 0 is back at once.', async () => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const { lock } = await lockItems(queues, queue)
    await queues.release(queue, { lockId: lock.id, delaySeconds: 0, overtake: true })
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"', '"a1"'])
  })

  it.each([-1, 1.5, 86_401, Number.NaN, '60'])(
    'cannot have the delay %s.',
    async (delaySeconds) => {
      const { queues, queue } = await stage.holding(named('a', 1))
      const { lock } = await lockItems(queues, queue)
      const call = queues.release(queue, { lockId: lock.id, delaySeconds: delaySeconds as number })
      await expect(call).rejects.toMatchObject({
        code: 'INVALID_PARAMETER',
        field: 'delay_seconds',
      })
      expect(await statesOf(queues, queue)).toEqual(['locked'])
    },
  )
})

describe('The lock of what was released with a delay', () => {
  it('answers as a released one does: a repetition with yes, all else with no.', async () => {
    const { queues, queue, lockId, request } = await released()
    expect(await queues.release(queue, request)).toEqual({ itemsReleased: 2 })
    for (const call of [
      () => queues.acknowledge(queue, { lockId }),
      () => queues.extend(queue, { lockId, ttlSeconds: 60 }),
      () => queues.deadLetter(queue, { lockId, reason: 'no' }),
      () => queues.pop(queue, { requireAck: true, acknowledge: lockId }),
    ]) {
      await expectCode(call(), 'LOCK_EXPIRED')
    }
    expect(await statesOf(queues, queue)).toContain('waiting')
  })

  it('is followed by one that no caller can settle, even with its id from the table.', async () => {
    const { queues, queue } = await released()
    const [lockId = ''] = Object.keys((await stage.stored(queue))?.K ?? {})
    expect(lockId).toHaveLength(11)
    for (const call of [
      () => queues.acknowledge(queue, { lockId }),
      () => queues.release(queue, { lockId }),
      () => queues.extend(queue, { lockId, ttlSeconds: 60 }),
      () => queues.deadLetter(queue, { lockId, reason: 'no' }),
      () => queues.pop(queue, { requireAck: true, acknowledge: lockId }),
    ]) {
      await expectCode(call(), 'LOCK_NOT_FOUND')
    }
    expect(await statesOf(queues, queue)).toContain('waiting')
  })

  it('leaves a pop with its key nothing to repeat.', async () => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const request = { requireAck: true, idempotencyKey: 'key', ttlSeconds: 30 }
    const { lock } = await lockItems(queues, queue, request)
    await queues.release(queue, { lockId: lock.id, delaySeconds: 60, overtake: true })
    expect(textsOf((await lockItems(queues, queue, request)).items)).toEqual(['"a1"'])
  })

  it('is remembered however many retries come due after it.', async () => {
    const { queues, queue } = await stage.holding(named('a', 40))
    const first = await lockItems(queues, queue, { competing: true })
    await queues.acknowledge(queue, { lockId: first.lock.id })
    // Folded, and so remembered.
    const locks: string[] = []
    for (let n = 0; n < 15; n += 1) {
      const { lock } = await lockItems(queues, queue, { competing: true })
      await queues.release(queue, { lockId: lock.id, delaySeconds: 1, overtake: true })
      locks.push(lock.id)
    }
    stage.clock.pass(SECOND_MS)
    await popItems(queues, queue, { competing: true })
    for (const lockId of [first.lock.id]) {
      expect(await queues.acknowledge(queue, { lockId })).toEqual({ itemsAcknowledged: 1 })
    }
    for (const lockId of locks) {
      expect(await queues.release(queue, { lockId })).toEqual({ itemsReleased: 1 })
    }
  })
})

describe('A delivery that ends in a release with a delay', () => {
  it('counts once, as one does that expires or is released at once.', async () => {
    for (const how of ['expired', 'released', 'later']) {
      const { queues, queue } = await stage.holding(named('a', 1))
      for (let n = 0; n < 3; n += 1) {
        const { lock } = await lockItems(queues, queue, { ttlSeconds: 60 })
        if (how === 'released') await queues.release(queue, { lockId: lock.id })
        if (how === 'later') await queues.release(queue, { lockId: lock.id, delaySeconds: 60 })
        expect((await queues.browse(queue)).items[0]?.deliveries).toBe(n + 1)
        stage.clock.pass(60 * SECOND_MS)
      }
      expect((await popItems(queues, queue)).items[0]?.deliveries).toBe(4)
    }
  })

  it('and was the last makes the item a dead letter at once, while the others wait.', async () => {
    const { queues, queue } = await stage.holding(named('a', 1))
    await queues.configure(queue, { maxDeliveries: 2 })
    const first = await lockItems(queues, queue)
    await queues.release(queue, { lockId: first.lock.id })
    await push(queues, queue, named('b', 1))
    const second = await lockItems(queues, queue, { count: 2 })
    await queues.release(queue, { lockId: second.lock.id, delaySeconds: 60 })
    expect((await queues.inspect(queue)).waitingCount).toBe(1)
    await queues.housekeep(queue)
    const [dead] = (await popItems(queues, `${queue}-deadletter`)).items
    expect(dead).toMatchObject({ text: '"a0"', reason: 'max_deliveries', priorDeliveries: 2 })
    stage.clock.pass(60 * SECOND_MS)
    expect(textsOf(await drain(queues, queue))).toEqual(['"b0"'])
  })
})

describe('A caller that looks at the queue', () => {
  it('sees what waits and when it is back, and nothing locked.', async () => {
    const { queues, queue, dueMs } = await released()
    const { items } = await queues.browse(queue, { limit: 3 })
    expect(items).toMatchObject([
      { state: 'waiting', retryAtMs: dueMs, deliveries: 1 },
      { state: 'waiting', retryAtMs: dueMs, deliveries: 1 },
      { state: 'ready', deliveries: 0 },
    ])
    expect(items[2]).not.toHaveProperty('retryAtMs')
    const told = { lockedCount: 0, waitingCount: 2, blockedUntilMs: dueMs }
    expect(await queues.inspect(queue)).toMatchObject({ ...told, count: 6, locks: [] })
    const { queues: list } = await queues.list({ prefix: queue, detail: true })
    expect(list).toMatchObject([{ count: 6, detail: told }])
    stage.clock.pass(HOUR_MS)
    expect(await statesOf(queues, queue)).not.toContain('waiting')
    expect(await queues.inspect(queue)).toMatchObject({ lockedCount: 0, waitingCount: 0 })
    expect(await queues.inspect(queue)).not.toHaveProperty('blockedUntilMs')
  })

  it('sees that nothing is blocked if the others may overtake.', async () => {
    const { queues, queue } = await released({ overtake: true })
    expect(await queues.inspect(queue)).toMatchObject({ waitingCount: 2 })
    expect(await queues.inspect(queue)).not.toHaveProperty('blockedUntilMs')
  })
})

describe('An item that waits for its retry', () => {
  it('takes up room, and a purge frees that room and the items that waited behind it.', async () => {
    const { queues, queue } = await released()
    await queues.configure(queue, { capacity: 6 })
    await expectCode(push(queues, queue, named('b', 1)), 'QUEUE_FULL')
    expect(await queues.purge(queue)).toEqual({ itemsPurged: 6 })
    await push(queues, queue, named('b', 1))
    expect(textsOf(await drain(queues, queue))).toEqual(['"b0"'])
    stage.clock.pass(HOUR_MS)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('is given back by the sweeper, whose timer the release has set.', async () => {
    const { queues, queue } = await released()
    stage.clock.pass(HOUR_MS - 1)
    await queues.returnExpiredLocks()
    expect(await queues.pop(queue)).toMatchObject({ kind: 'locked' })
    stage.clock.pass(1)
    expect((await queues.returnExpiredLocks()).itemsReturned).toBe(2)
    expect((await stage.stored(queue))?.K).toEqual({})
  })

  it('stays where it is when a dead-letter queue is redriven.', async () => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const { lock } = await lockItems(queues, queue, { count: 2 })
    await queues.deadLetter(queue, { lockId: lock.id, reason: 'bad' })
    const dead = `${queue}-deadletter`
    const looked = await lockItems(queues, dead)
    await queues.release(dead, { lockId: looked.lock.id, delaySeconds: 60 })
    expect(await queues.redrive(dead)).toEqual({ itemsRedriven: 1, itemsLeft: 1 })
    stage.clock.pass(60 * SECOND_MS)
    await queues.returnExpiredLocks()
    expect(await queues.redrive(dead)).toEqual({ itemsRedriven: 1, itemsLeft: 0 })
  })
})

describe('If many items wait for their retries, one by one, they share locks', () => {
  type Many = { every?: number; overtake?: (n: number) => boolean }

  /** Fails `count` of as many items singly, a second apart. */
  async function failed(count: number, how: Many = {}) {
    const { every = 1, overtake = () => true } = how
    const simulated = openSimulated()
    const queues = simulated.engine()
    for (let at = 0; at < count * every; at += 1_000) {
      await push(queues, 'orders', named('a', Math.min(1_000, count * every - at), 0, at))
    }
    const locksOf = async () =>
      [...(await simulated.record('orders')).locks].filter(([, lock]) => isRetry(lock))
    const due = new Map<number, number>()
    for (let n = 0; n < count * every; n += 1) {
      const { lock } = await lockItems(queues, 'orders', { competing: true, ttlSeconds: 300 })
      if (n % every > 0) {
        await queues.acknowledge('orders', { lockId: lock.id })
        continue
      }
      const request = { lockId: lock.id, delaySeconds: 1_600, overtake: overtake(n) }
      await queues.release('orders', request)
      due.set(n, simulated.clock.nowMs() + 1_600 * SECOND_MS)
      simulated.clock.pass(SECOND_MS / 4)
    }
    const waiting = (await locksOf()).flatMap(([, { expiresAtMs, stretches, signs }]) =>
      stretches.flatMap(({ from, to }) =>
        Array.from({ length: to - from }, (_, i) => ({ signs, n: from + i, expiresAtMs })),
      ),
    )
    expect(waiting.map(({ n }) => n).sort((a, b) => a - b)).toEqual([...due.keys()])
    return { simulated, queues, due, waiting, locks: await locksOf() }
  }

  it('that are few, and a record that is small; none comes early, or much later.', async () => {
    const { simulated, queues, due, waiting, locks } = await failed(1_000)
    expect(locks.length).toBeLessThan(20)
    expect(await simulated.recordBytes('orders')).toBeLessThan(4_000)
    for (const { n, expiresAtMs } of waiting) {
      const late = expiresAtMs - (due.get(n) as number)
      expect(late).toBeGreaterThanOrEqual(0)
      expect(late).toBeLessThanOrEqual(n < 16 ? 0 : 100 * SECOND_MS)
    }
    simulated.clock.pass(2 * HOUR_MS)
    expect(await drain(queues, 'orders', 100)).toHaveLength(1_000)
  })

  it('of a hundred ranges at the most, which one write can end.', async () => {
    const { locks } = await failed(300, { every: 2 })
    expect(Math.max(...locks.map(([, { stretches }]) => stretches.length))).toBe(100)
    expect(locks.length).toBeLessThan(22)
  })

  it('each with others of their kind: what may be overtaken keeps nobody waiting.', async () => {
    const overtake = (n: number) => n % 3 > 0
    const { waiting } = await failed(60, { overtake })
    for (const { signs, n } of waiting) expect(signs).toBe(overtake(n) ? 'wo' : 'w')
  })
})

describe('The events', () => {
  async function consumed(overtake: boolean) {
    const simulated = openSimulated()
    const queues = simulated.engine()
    await push(queues, 'orders', named('a', 3))
    const { lock } = await lockItems(queues, 'orders', { forConsumer: true })
    simulated.announced.length = 0
    await queues.release('orders', { lockId: lock.id, delaySeconds: 7_200, overtake })
    return { simulated, queues }
  }

  it('tell nothing of a release with a delay behind which the others wait.', async () => {
    const { simulated } = await consumed(false)
    expect(simulated.announced).toEqual([])
  })

  it('tell of items that others may overtake: the consumers that saw the queue locked have ended.', async () => {
    const { simulated } = await consumed(true)
    expect(simulated.announced).toEqual(['orders: items-available'])
  })

  it('tell nothing if another consumer has a lock, or nothing else is free.', async () => {
    const simulated = openSimulated()
    const queues = simulated.engine()
    await push(queues, 'orders', named('a', 3))
    const [one, two] = [
      await lockItems(queues, 'orders', { competing: true }),
      await lockItems(queues, 'orders', { competing: true }),
    ]
    simulated.announced.length = 0
    const later = { delaySeconds: 60, overtake: true }
    await queues.release('orders', { lockId: one.lock.id, ...later })
    expect(simulated.announced).toEqual([])
    await popItems(queues, 'orders', { competing: true })
    simulated.announced.length = 0
    await queues.release('orders', { lockId: two.lock.id, ...later })
    expect(simulated.announced).toEqual([])
  })

  it('tell of a retry that comes due, and of no lock that expired.', async () => {
    for (const overtake of [false, true]) {
      const { simulated, queues } = await consumed(overtake)
      // So that no reminder is among them.
      if (overtake) await popItems(queues, 'orders', { count: 3 })
      simulated.clock.pass(2 * HOUR_MS)
      simulated.announced.length = 0
      await queues.returnExpiredLocks()
      expect(simulated.announced).toEqual(['orders: items-available'])
    }
  })

  it.each([true, false])(
    'remind of what is pushed while a retry is a day away, overtaken or not (%s).',
    async (overtake) => {
      const simulated = openSimulated()
      const queues = simulated.engine()
      const sweep = async (minutes: number) => {
        for (let minute = 0; minute < minutes; minute += 1) {
          simulated.clock.pass(60 * SECOND_MS)
          await queues.returnExpiredLocks()
        }
      }
      await push(queues, 'orders', named('a', 1))
      const { lock } = await lockItems(queues, 'orders', { competing: true, ttlSeconds: 30 })
      const request = { lockId: lock.id, delaySeconds: 24 * HOUR_SECONDS, overtake }
      await queues.release('orders', request)
      await sweep(3)
      await push(queues, 'orders', named('b', 1))
      simulated.announced.length = 0
      await sweep(15)
      expect(simulated.announced).toEqual(['orders: items-available'])
    },
  )

  it('by hand end no retry early, and tell of the rest: competing consumers can take it.', async () => {
    const { simulated, queues } = await consumed(false)
    expect(await queues.announceWaiting({ consumersAreGone: true })).toMatchObject({ announced: 1 })
    expect(simulated.announced).toEqual(['orders: items-available'])
    expect(await queues.pop('orders')).toMatchObject({ kind: 'locked' })
    expect((await queues.pop('orders', { competing: true })).kind).toBe('items')
  })
})
