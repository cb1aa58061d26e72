import { describe, expect, it } from 'vitest'
import { LANES_MAX } from '../../engine/core/limits.ts'
import type { Queues } from '../../engine/queues.ts'
import { onSimulated, openSimulated, type Stage } from './stage.ts'
import {
  drain,
  expectCode,
  type Locked,
  lockItems,
  popItems,
  push,
  pushWide,
  textsOf,
} from './traffic.ts'

/** As wide as a queue may be: no write may need a longer expression than DynamoDB takes. */

async function wideQueue(
  stage: Stage,
  lanes: number,
  eachLane = 1,
): Promise<{ queues: Queues; queue: string }> {
  const [queues, queue] = [stage.engine(), stage.queue()]
  for (let round = 0; round < eachLane; round += 1) {
    await pushWide(queues, queue, toLanes(lanes))
  }
  return { queues, queue }
}

const toLanes = (count: number, from = 0) =>
  numbers(count, from).map((text) => ({ text, priority: Number(text) }))

const lockMany = async (queues: Queues, queue: string, locks: number, count = 100) => {
  const taken: Locked[] = []
  for (let lock = 0; lock < locks; lock += 1) {
    taken.push(await lockItems(queues, queue, { count, competing: true }))
  }
  return taken
}

const numbers = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index))

describe('A queue with 1,000 priorities in use', () => {
  it('refuses another until one is empty, no matter which process asks.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await wideQueue(stage, LANES_MAX)
    const another = { text: '"another"', priority: LANES_MAX }
    const refused = 'TOO_MANY_PRIORITIES'
    await expectCode(push(queues, queue, [another]), refused)
    await expectCode(push(stage.engine(), queue, [another]), refused)
    await expectCode(queues.push(queue, { items: [another], idempotencyKey: 'key' }), refused)
    await expectCode(queues.pushTransactItem(queue, another), refused)
    // One that is in use takes more.
    await push(queues, queue, [{ text: '"more"', priority: 999 }])

    await popItems(queues, queue)
    await push(queues, queue, [another])
    const left = textsOf(await drain(stage.engine(), queue))
    expect(left).toEqual([...numbers(LANES_MAX - 1, 1), '"more"', '"another"'])
  })

  it('refuses a transaction that it has room for only in part, at once.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await wideQueue(stage, LANES_MAX - 10)
    const items = numbers(20).map((text, n) => ({ text, priority: LANES_MAX + n }))
    const send = async () => expect.unreachable('There is no entry to send')
    await expectCode(queues.transact(queue, items, send), 'TOO_MANY_PRIORITIES')
  })

  it('gives up lanes that hold only dead items, once these have moved.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await wideQueue(stage, LANES_MAX)
    await queues.configure(queue, { maxDeliveries: 1 })
    await popItems(queues, queue, { count: 10 })
    for (let lock = 0; lock < 3; lock += 1) {
      await queues.pop(queue, { count: 30, requireAck: true, competing: true, ttlSeconds: 1 })
    }
    stage.clock.pass(2_000)
    await queues.pop(queue, { requireAck: true, competing: true, ttlSeconds: 300 })
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ deadCount: 90 })
    const more = numbers(15).map((text, n) => ({ text, priority: LANES_MAX + n }))
    await push(queues, queue, more)
    expect((await queues.inspect(queue, { consistent: true })).deadCount).toBe(0)
  })

  it('gives up its empty lanes to 1,000 others.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await wideQueue(stage, LANES_MAX)
    expect(await drain(queues, queue)).toHaveLength(LANES_MAX)
    await pushWide(queues, queue, toLanes(LANES_MAX, 5_000))
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(numbers(LANES_MAX, 5_000))
  })

  it('does not let the next push wait for seconds after bulk pushes to all of them.', async () => {
    const { stage, queue, queues } = onSimulated()
    await pushWide(queues, queue, toLanes(LANES_MAX))
    const beforeMs = stage.clock.nowMs()
    await push(queues, queue, [{ text: '"next"' }])
    expect(stage.clock.nowMs() - beforeMs).toBeLessThan(2_000)
  })
})

describe('With ten locks over 100 lanes each, all expired,', () => {
  const setUp = async () => {
    const stage = openSimulated()
    const { queue } = await wideQueue(stage, LANES_MAX)
    await lockMany(stage.engine(), queue, 10)
    stage.clock.pass(31_000)
    return { stage, queue, queues: stage.engine() }
  }

  it('a pop gets the first items again.', async () => {
    const { queues, queue } = await setUp()
    expect(textsOf((await popItems(queues, queue, { count: 5 })).items)).toEqual(numbers(5))
  })

  it('the sweeper gives all of them back.', async () => {
    const { queues, queue, stage } = await setUp()
    for (let run = 0; run < 10; run += 1) {
      expect((await queues.returnExpiredLocks()).failed).toEqual([])
    }
    expect((await stage.record(queue)).locks.size).toBe(0)
  })

  it('a purge takes them all.', async () => {
    const { queues, queue } = await setUp()
    expect(await queues.purge(queue)).toEqual({ itemsPurged: LANES_MAX })
  })
})

it('Nine acknowledged locks over 100 lanes each are folded by the next pop.', async () => {
  const stage = openSimulated()
  const { queues, queue } = await wideQueue(stage, LANES_MAX)
  for (const { lock } of await lockMany(queues, queue, 9)) {
    await queues.acknowledge(queue, { lockId: lock.id })
  }
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(numbers(100, 900))
})

it('20 acknowledged locks over 100 lanes each are folded by the acknowledge that counts them.', async () => {
  const stage = openSimulated()
  const { queues, queue } = await wideQueue(stage, LANES_MAX, 2)
  for (const { lock } of await lockMany(queues, queue, 20)) {
    await queues.acknowledge(queue, { lockId: lock.id })
  }
  expect(stage.background).toEqual([])
  expect(await drain(stage.engine(), queue)).toEqual([])
})

it('One write ends 40 expired locks, folds 15 done ones, and takes from 41 lanes.', async () => {
  const stage = openSimulated()
  const { queues, queue } = await wideQueue(stage, 41)
  await push(
    queues,
    queue,
    Array.from({ length: 54 }, () => ({ text: '"first"', priority: 0 })),
  )
  const locks = await lockMany(queues, queue, 55, 1)
  for (const { lock } of locks.slice(0, 15)) {
    await queues.acknowledge(queue, { lockId: lock.id })
  }
  stage.clock.pass(31_000)
  const { items } = await popItems(stage.engine(), queue, { count: 100, competing: true })
  expect(items).toHaveLength(80)
})

it('A loop of pops of 100 lanes each, in one call with the acknowledge, drains 1,000 lanes.', async () => {
  const stage = openSimulated()
  const { queue } = await wideQueue(stage, LANES_MAX)
  const queues = stage.engine()
  const texts: string[] = []
  let acknowledge: { acknowledge?: string } = {}
  for (let call = 0; call < 10; call += 1) {
    const { items, lock } = await lockItems(queues, queue, { count: 100, ...acknowledge })
    texts.push(...textsOf(items))
    acknowledge = { acknowledge: lock.id }
  }
  expect(texts).toEqual(numbers(LANES_MAX))
})

it.each([
  [0, 100],
  [30, 90],
  [100, 100],
  [500, 100],
])(
  'With %i lanes there, a push to %i lanes is one append, with a key and without.',
  async (there, lanes) => {
    const stage = openSimulated()
    const { queues, queue } = await wideQueue(stage, there)
    const items = toLanes(lanes)
    await push(queues, queue, items)
    await queues.push(queue, { items, idempotencyKey: 'one' })
    await stage.engine().push(queue, { items, idempotencyKey: 'two' })
    expect((await stage.record(queue)).appends).toBe(Math.ceil(there / 100) + 3)
    expect(await drain(stage.engine(), queue)).toHaveLength(there + 3 * lanes)
  },
)

it('A push to more than 100 priorities is refused, and brings nothing.', async () => {
  const { queues, queue } = onSimulated()
  const refusal = { code: 'INVALID_PRIORITY', field: 'items' }
  await expect(push(queues, queue, toLanes(101))).rejects.toMatchObject(refusal)
  const more = [...toLanes(100), ...toLanes(100)]
  expect((await queues.push(queue, { items: more })).ids).toHaveLength(200)
})

it('A purge of 100 lanes that all have holes and returned items is one write.', async () => {
  const stage = openSimulated()
  const { queue } = await wideQueue(stage, 100, 4)
  const queues = stage.engine()
  const locks = await lockMany(queues, queue, 4)
  for (const { items, lock } of locks) {
    const third = items.filter((_, index) => index % 3 === 0)
    await queues.acknowledge(queue, { lockId: lock.id, ids: third.map(({ id }) => id) })
    await queues.release(queue, { lockId: lock.id })
  }
  const state = await queues.inspect(queue)
  expect(await queues.purge(queue)).toEqual({ itemsPurged: state.count })
  expect((await queues.inspect(queue)).count).toBe(0)
})
