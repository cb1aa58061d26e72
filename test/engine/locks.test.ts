import { describe, expect, it } from 'vitest'
import { useEmbedded } from './stage.ts'
import {
  drain,
  idsOf,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

const stage = useEmbedded()

const SECOND_MS = 1_000

describe('With clocks that disagree', () => {
  it.each([5, -5])('by %i seconds, nothing is lost or settled twice.', async (skewSeconds) => {
    const queue = stage.queue()
    const one = stage.engine()
    const two = stage.engine({ clock: stage.clock.skewed(skewSeconds * SECOND_MS) })
    await push(one, queue, named('a', 6))
    const first = await lockItems(one, queue, { count: 2, ttlSeconds: 8, competing: true })
    stage.clock.pass(4 * SECOND_MS)
    const second = await lockItems(two, queue, { count: 2, ttlSeconds: 8, competing: true })
    const settled: string[] = []
    for (const [queues, taken] of [
      [two, second],
      [one, first],
    ] as const) {
      const lockId = taken.lock.id
      await queues.acknowledge(queue, { lockId }).then(
        () => settled.push(...textsOf(taken.items)),
        (error: { code: string }) => expect(error.code).toBe('LOCK_EXPIRED'),
      )
    }
    stage.clock.pass(20 * SECOND_MS)
    settled.push(...textsOf(await drain(two, queue)))
    expect(settled.sort()).toEqual(textsOf(named('a', 6)))
  })

  it('and one that runs backwards, locks still end and order stays.', async () => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const { lock } = await lockItems(queues, queue, { ttlSeconds: 10 })
    const back = stage.engine({ clock: stage.clock.skewed(-60 * SECOND_MS) })
    await push(back, queue, named('b', 2))
    expect(await back.pop(queue)).toMatchObject({ kind: 'locked' })
    expect(await back.returnExpiredLocks()).toMatchObject({ itemsReturned: 0 })
    await back.extend(queue, { lockId: lock.id, ttlSeconds: 5 })
    // Extended to a time that has passed for everybody else.
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"', '"a1"', '"b0"', '"b1"'])
  })
})

describe('An extension', () => {
  it('moves the expiry on, and the sweeper waits for it.', async () => {
    const { queues, queue } = await stage.holding(named('a', 1))
    const { lock } = await lockItems(queues, queue, { ttlSeconds: 10 })
    stage.clock.pass(9 * SECOND_MS)
    const extended = await stage.engine().extend(queue, { lockId: lock.id, ttlSeconds: 100 })
    const expiresAtMs = stage.clock.nowMs() + 100 * SECOND_MS
    expect(extended).toEqual({ lockId: lock.id, ttlSeconds: 100, expiresAtMs })
    stage.clock.pass(50 * SECOND_MS)
    await queues.returnExpiredLocks()
    expect(await queues.pop(queue)).toEqual({ kind: 'locked', expiresAtMs })
    expect((await stage.record(queue)).checkAtMs).toBeLessThanOrEqual(expiresAtMs)
    expect(await queues.acknowledge(queue, { lockId: lock.id })).toEqual({ itemsAcknowledged: 1 })
  })

  it('may shorten a lock, and the timer comes sooner with it.', async () => {
    const { queues, queue } = await stage.holding(named('a', 1))
    const { lock } = await lockItems(queues, queue, { ttlSeconds: 300 })
    const { expiresAtMs } = await queues.extend(queue, { lockId: lock.id, ttlSeconds: 2 })
    expect((await stage.record(queue)).checkAtMs).toBe(expiresAtMs)
    stage.clock.pass(2 * SECOND_MS)
    expect(await queues.returnExpiredLocks()).toMatchObject({ itemsReturned: 1, failed: [] })
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"'])
  })
})

describe('A lock on items in S3, in chunks, in a batch and in the tail', () => {
  const setUp = async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 5 })
    await pushOneByOne(queues, queue, named('a', 100))
    await tidy(queues, queue)
    await push(queues, queue, [...named('a', 30, 0, 100), { text: `"${'z'.repeat(2_000)}"` }])
    await pushOneByOne(queues, queue, named('b', 3))
    const lane = (await stage.record(queue)).lanes.get(0)
    expect(lane?.offloaded.to).toBeGreaterThan(10)
    expect(lane?.tail.length).toBeGreaterThan(3)
    // Up to four items before the end of what is in S3, over chunks and the batch to the tail.
    const before = (lane?.offloaded.to ?? 0) * 5 - 4
    for (let left = before; left > 0; left -= 100) {
      await popItems(stage.engine(), queue, { count: Math.min(100, left) })
    }
    const taken = await lockItems(stage.engine(), queue, { count: 100, competing: true })
    expect(taken.items.length).toBe(134 - before)
    return { queues, queue, taken }
  }

  it('may be acknowledged in part, released in part, and expire for the rest.', async () => {
    const { queues, queue, taken } = await setUp()
    const lockId = taken.lock.id
    const [done, back] = [0, 1].map((rest) => taken.items.filter((_, index) => index % 3 === rest))
    const rest = taken.items.filter((_, index) => index % 3 === 2)
    expect(await queues.acknowledge(queue, { lockId, ids: idsOf(done ?? []) })).toEqual({
      itemsAcknowledged: done?.length,
    })
    await stage.engine().release(queue, { lockId, ids: idsOf(back ?? []) })
    const again = await lockItems(stage.engine(), queue, { count: 100, competing: true })
    expect(textsOf(again.items)).toEqual(textsOf(back ?? []))
    await queues.release(queue, { lockId: again.lock.id })
    stage.clock.pass(31 * SECOND_MS)
    await tidy(queues, queue)
    const left = await drain(stage.engine(), queue)
    expect(textsOf(left)).toEqual(
      textsOf(taken.items.filter((item) => !(done ?? []).includes(item))),
    )
    expect(left.map(({ deliveries }) => deliveries)).toEqual(
      left.map(({ text }) => (textsOf(rest).includes(text) ? 2 : 3)),
    )
  })

  it('may be acknowledged as a whole, and nothing is left.', async () => {
    const { queues, queue, taken } = await setUp()
    await queues.acknowledge(queue, { lockId: taken.lock.id })
    expect(await stage.engine().pop(queue)).toEqual({ kind: 'empty' })
    expect((await queues.inspect(queue, { consistent: true })).count).toBe(0)
  })

  it('keeps its items from being trimmed, however long housekeeping runs.', async () => {
    const { queues, queue, taken } = await setUp()
    await pushOneByOne(queues, queue, named('c', 120))
    await drainCompeting(queue, 60)
    await tidy(queues, queue)
    stage.clock.pass(31 * SECOND_MS)
    const again = await popItems(stage.engine(), queue, { count: 100 })
    expect(textsOf(again.items).slice(0, taken.items.length)).toEqual(textsOf(taken.items))
  })

  const drainCompeting = (queue: string, count: number) =>
    stage.engine().pop(queue, { count, competing: true })
})
