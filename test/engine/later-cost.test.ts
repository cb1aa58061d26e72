import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { bulky, drain, push } from './traffic.ts'

// What a delayed item costs beyond one that is not, in write units of its whole life: push, join, pop.

const BYTES = 200

/** The units of a queue's whole life in a minute, pushed by `pushAll`. */
async function unitsOf(
  pushes: readonly (readonly PushItem[])[],
  { producers = 1 }: { producers?: number } = {},
): Promise<number> {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  await push(queues, queue, [{ text: '0' }])
  await drain(queues, queue)
  const before = stage.store.writeUnits?.() ?? 0
  const others = Array.from({ length: producers }, () => stage.engine())
  for (const [index, items] of pushes.entries()) {
    await push(others[index % producers] ?? queues, queue, items)
  }
  stage.clock.pass(61_000)
  await queues.returnExpiredLocks()
  const popped = await drain(queues, queue)
  expect(popped).toHaveLength(pushes.flat().length)
  await queues.housekeep(queue)
  return (stage.store.writeUnits?.() ?? 0) - before
}

const items = (count: number, delaySeconds?: number): PushItem[] =>
  Array.from({ length: count }, (_, n) => ({
    text: bulky(`n${n}`, BYTES),
    ...(delaySeconds !== undefined && { delaySeconds }),
  }))

const oneByOne = (all: readonly PushItem[]): PushItem[][] => all.map((item) => [item])

describe('An item for later costs', () => {
  it('alone at most six write units more than one for now, with the sweeper’s visit.', async () => {
    const more = (await unitsOf([items(1, 50)])) - (await unitsOf([items(1)]))
    expect(more).toBeLessThanOrEqual(6)
  })

  it('at fifty for one second at most two write units more, from one producer and from eight.', async () => {
    for (const producers of [1, 8]) {
      const [later, now] = [oneByOne(items(50, 50)), oneByOne(items(50))]
      const more = (await unitsOf(later, { producers })) - (await unitsOf(now, { producers }))
      expect(more / 50).toBeLessThanOrEqual(2)
    }
  })

  it('in a bulk of a thousand for one time at most 0.3 write units more.', async () => {
    const more = (await unitsOf([items(1_000, 50)])) - (await unitsOf([items(1_000)]))
    expect(more / 1_000).toBeLessThanOrEqual(0.3)
  })
})

describe('A queue with very many items for later', () => {
  it('has a record, and pushes and pops, like one without, a minute after the last came.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const measure = async (): Promise<number> => {
      const before = stage.store.writeUnits?.() ?? 0
      for (let n = 0; n < 40; n += 1) await push(queues, queue, [{ text: bulky(`n${n}`, BYTES) }])
      await drain(queues, queue, 1)
      return (stage.store.writeUnits?.() ?? 0) - before
    }
    await measure()
    const without = await measure()
    const bytes = await stage.recordBytes(queue)
    for (let n = 0; n < 60; n += 1) await push(queues, queue, items(1_000, 86_400 + n))
    for (let n = 0; n < 20; n += 1) await push(queues, queue, items(1, 90_000 + n))
    stage.clock.pass(61_000)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 60_020 })
    expect((await stage.record(queue)).scheduled.entries).toEqual([])
    expect((await stage.recordBytes(queue)) - bytes).toBeLessThan(100)
    const units = await measure()
    expect(units / without).toBeLessThanOrEqual(1.05)
  })

  it('has a record like one without also where locks end all the while.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, items(600, 86_400))
    await push(queues, queue, items(1))
    stage.clock.pass(40_000)
    await queues.pop(queue, { requireAck: true, ttlSeconds: 10 })
    stage.clock.pass(61_000)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 600, lockedCount: 0 })
    expect((await stage.record(queue)).scheduled.entries).toEqual([])
  })
})
