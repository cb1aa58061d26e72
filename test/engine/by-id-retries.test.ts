import { describe, expect, it } from 'vitest'
import type { ReleaseRequest } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { drain, idsOf, lockItems, named, push, pushOneByOne, textsOf } from './traffic.ts'

const HOUR_SECONDS = 3_600
const HOUR_MS = HOUR_SECONDS * 1_000

/** `"a0"`…, of which the first wait for their retry in an hour. */
async function putOff(count: number, waiting: number, options: Partial<ReleaseRequest> = {}) {
  const stage = openSimulated()
  const queues = stage.engine()
  const ids = await pushOneByOne(queues, 'orders', named('a', count))
  const { lock } = await lockItems(queues, 'orders', { count: waiting })
  const release = { lockId: lock.id, delaySeconds: HOUR_SECONDS, ...options }
  await queues.release('orders', release)
  stage.announced.length = 0
  const at = (n: number) => ids[n] as string
  const left = async () => {
    stage.clock.pass(HOUR_MS)
    return textsOf(await drain(queues, 'orders')).join('')
  }
  return { stage, queues, ids, at, left }
}

describe('An item that waits for its retry, and that nobody holds,', () => {
  it('can be cancelled, and the others of its lock wait on.', async () => {
    const { stage, queues, at, left } = await putOff(4, 3)
    expect(await queues.cancel('orders', [at(1)])).toEqual([{ id: at(1), result: 'cancelled' }])
    expect((await queues.browse('orders')).items.map(({ state }) => state)).toEqual([
      'waiting',
      'waiting',
      'ready',
    ])
    expect(await stage.record('orders')).toMatchObject({ inFlight: 3 })
    expect(await left()).toBe('"a0""a2""a3"')
  })

  it('can be moved to another priority and another queue, where it waits no longer.', async () => {
    const { queues, at, left } = await putOff(4, 3, { overtake: true })
    const [within] = await queues.move('orders', { ids: [at(0)], priority: 5 })
    const [across] = await queues.move('orders', { ids: [at(2)], queue: 'others' })
    expect([within?.result, across?.result]).toEqual(['moved', 'moved'])
    expect(textsOf(await drain(queues, 'others'))).toEqual(['"a2"'])
    expect(textsOf(await drain(queues, 'orders'))).toEqual(['"a3"', '"a0"'])
    expect(await left()).toBe('"a1"')
  })

  it('can be redriven by its id.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await push(queues, 'orders', named('a', 3))
    const { lock } = await lockItems(queues, 'orders', { count: 3 })
    await queues.deadLetter('orders', { lockId: lock.id })
    const dead = 'orders-deadletter'
    const held = await lockItems(queues, dead, { count: 2 })
    await queues.release(dead, { lockId: held.lock.id, delaySeconds: 60 })
    const ids = idsOf(held.items).slice(1)
    expect(await queues.redrive(dead, { ids })).toEqual({ itemsRedriven: 1, itemsLeft: 2 })
    expect(textsOf(await drain(queues, 'orders'))).toEqual(['"a1"'])
  })

  it('is redriven like what a lock held whose time is over.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await push(queues, 'orders', named('a', 3))
    const { lock } = await lockItems(queues, 'orders', { count: 3 })
    await queues.deadLetter('orders', { lockId: lock.id })
    const dead = 'orders-deadletter'
    const held = await lockItems(queues, dead, { count: 2, ttlSeconds: 5 })
    const ids = idsOf(held.items).slice(0, 1)
    expect(await queues.redrive(dead, { ids })).toEqual({ itemsRedriven: 0, itemsLeft: 3 })
    stage.clock.pass(6_000)
    expect(await queues.redrive(dead, { ids })).toEqual({ itemsRedriven: 1, itemsLeft: 2 })
    expect(textsOf(await drain(queues, dead))).toEqual(['"a1"', '"a2"'])
  })

  it('is awake where the only item left it for another priority: a consumer hears of it.', async () => {
    const { stage, queues, at } = await putOff(2, 2, { overtake: true })
    await push(queues, 'orders', named('b', 1, 5))
    await drain(queues, 'orders')
    expect(await stage.record('orders')).toMatchObject({ dry: true })
    stage.announced.length = 0
    await queues.move('orders', { ids: [at(0)], priority: 5 })
    expect(await stage.record('orders')).toMatchObject({ dry: false })
    expect(stage.announced).toEqual(['orders: items-available'])
  })

  it('frees the items behind it, with an event, if it is the last of its lock.', async () => {
    const { stage, queues, ids } = await putOff(3, 2)
    await queues.cancel('orders', ids.slice(0, 1))
    expect(stage.announced).toEqual([])
    await queues.cancel('orders', ids.slice(1, 2))
    expect(stage.announced).toEqual(['orders: items-available'])
    expect((await queues.pop('orders')).kind).toBe('items')
  })

  it('tells of its deliveries where it is moved to the dead letters.', async () => {
    const { queues, at } = await putOff(2, 1)
    await queues.move('orders', { ids: [at(0)], queue: 'orders-deadletter' })
    const [dead] = await drain(queues, 'orders-deadletter')
    expect(dead).toMatchObject({ reason: 'moved', priorDeliveries: 1 })
  })

  it('leaves calls with ids the room for a thousand gaps, however much of it there is.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    for (let n = 0; n < 11; n += 1) await push(queues, 'orders', named('a', 100, 0, 100 * n))
    const ids = await pushOneByOne(queues, 'orders', named('z', 4))
    for (let n = 0; n < 11; n += 1) {
      const { lock } = await lockItems(queues, 'orders', { count: 100 })
      await queues.release('orders', { lockId: lock.id, delaySeconds: 86_400, overtake: true })
    }
    const [cancelled] = await queues.cancel('orders', ids.slice(1, 2))
    const [moved] = await queues.move('orders', { ids: ids.slice(3), priority: 2 })
    expect([cancelled?.result, moved?.result]).toEqual(['cancelled', 'moved'])
  })

  it('leaves no gap if the record is full, and says so.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    const { ids } = await push(queues, 'orders', named('a', 1_000))
    await push(queues, 'orders', named('b', 1_000))
    const { ids: end } = await push(queues, 'orders', named('z', 3))
    for (let n = 0; n < 20; n += 1) {
      const { lock } = await lockItems(queues, 'orders', { count: 100 })
      await queues.release('orders', { lockId: lock.id, delaySeconds: 60, overtake: true })
    }
    const middle = end.slice(1, 2)
    await expect(queues.cancel('orders', middle)).rejects.toThrow(
      '0 gaps where items were taken out before, of 1000 at the most, and 2000 of these',
    )
    // One that waits leaves a gap in place of itself.
    expect(await queues.cancel('orders', ids.slice(5, 6))).toMatchObject([{ result: 'cancelled' }])
  })

  it('lets go of a hundred items, of more locks than a write has room for.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    const ids = await pushOneByOne(queues, 'orders', named('a', 100))
    for (let n = 0; n < 100; n += 1) {
      const { lock } = await lockItems(queues, 'orders', { ttlSeconds: 300 })
      const delaySeconds = 60 + 100 * n
      await queues.release('orders', { lockId: lock.id, delaySeconds, overtake: true })
    }
    expect((await stage.record('orders')).locks.size).toBeGreaterThan(40)
    const sent = await queues.wire.during(() => queues.cancel('orders', ids))
    expect(sent.filter((name) => name === 'UpdateCommand')).toHaveLength(2)
    expect((await queues.inspect('orders')).count).toBe(0)
  })
})
