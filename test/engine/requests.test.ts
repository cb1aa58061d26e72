import { describe, expect, it } from 'vitest'
import { onSimulated } from './stage.ts'
import { bulky, drain, lockItems, named, popItems, push, pushOneByOne, tidy } from './traffic.ts'

/** What the hot paths cost, in requests: each is a round trip, and most of the bill. */

const setUp = async (items = 5) => {
  const { stage, queue, queues } = onSimulated()
  await pushOneByOne(queues, queue, named('a', items))
  return { stage, queues, queue, wire: queues.wire }
}

describe('One request each:', () => {
  it('a push, warm or cold, to a queue that is there.', async () => {
    const { stage, queues, queue, wire } = await setUp()
    expect(await wire.during(() => push(queues, queue, named('b', 1)))).toEqual(['UpdateCommand'])
    expect(await wire.during(() => push(queues, queue, named('b', 9)))).toEqual(['UpdateCommand'])
    const cold = stage.engine()
    expect(await cold.wire.during(() => push(cold, queue, named('b', 1)))).toEqual([
      'UpdateCommand',
    ])
  })

  it('an exclusive pop of either kind, an acknowledge, and both in one.', async () => {
    const { queues, queue, wire } = await setUp(10)
    expect(await wire.during(() => popItems(queues, queue))).toEqual(['UpdateCommand'])
    const first = await lockItems(queues, queue)
    const combined = { requireAck: true, acknowledge: first.lock.id }
    let lockId = ''
    const sent = await wire.during(async () => {
      lockId = (await lockItems(queues, queue, combined)).lock.id
    })
    expect(sent).toEqual(['UpdateCommand'])
    expect(await wire.during(() => queues.acknowledge(queue, { lockId }))).toEqual([
      'UpdateCommand',
    ])
    const { lock } = await lockItems(queues, queue, { count: 2 })
    await queues.release(queue, { lockId: lock.id })
    const some = await wire.during(() => popItems(queues, queue, { count: 2 }))
    expect(some).toEqual(['UpdateCommand'])
    // More than it remembers: it looks whether there is more.
    const all = await wire.during(() => lockItems(queues, queue, { count: 10 }))
    expect(all).toEqual(['GetCommand', 'UpdateCommand'])
  })

  it('a claim, its acknowledge, and both in one.', async () => {
    const { queues, queue, wire } = await setUp(20)
    const request = { requireAck: true, competing: true }
    let { lock } = await lockItems(queues, queue, request)
    for (let round = 0; round < 4; round += 1) {
      const acknowledge = lock.id
      const sent = await wire.during(async () => {
        lock = (await lockItems(queues, queue, { ...request, acknowledge })).lock
      })
      expect(sent).toEqual(['UpdateCommand'])
    }
    expect(await wire.during(() => lockItems(queues, queue, request))).toEqual(['UpdateCommand'])
    expect(await wire.during(() => queues.acknowledge(queue, { lockId: lock.id }))).toEqual([
      'UpdateCommand',
    ])
  })

  it('an extension and a release by the process that locked.', async () => {
    const { queues, queue, wire } = await setUp()
    const { lock } = await lockItems(queues, queue)
    const request = { lockId: lock.id, ttlSeconds: 60 }
    expect(await wire.during(() => queues.extend(queue, request))).toEqual(['UpdateCommand'])
    expect(await wire.during(() => queues.release(queue, { lockId: lock.id }))).toEqual([
      'UpdateCommand',
    ])
  })
})

describe('Few more:', () => {
  it('a first push takes two, and a look at the patterns twice a minute; a cold pop two.', async () => {
    const { stage, queue, queues } = onSimulated()
    expect(await queues.wire.during(() => push(queues, queue, named('a', 1)))).toEqual([
      'UpdateCommand',
      'GetCommand',
      'PutCommand',
    ])
    stage.clock.pass(30_000)
    expect(await queues.wire.during(() => push(queues, 'another', named('a', 1)))).toEqual([
      'UpdateCommand',
      'PutCommand',
    ])
    const cold = stage.engine()
    expect(await cold.wire.during(() => popItems(cold, queue))).toEqual([
      'GetCommand',
      'UpdateCommand',
    ])
    expect(await cold.wire.during(() => cold.pop(queue))).toEqual(['GetCommand'])
  })

  it('pushes of 200 bytes seal so seldom that they take 1.25 requests each, and the first two more; the record stays within 2 KB.', async () => {
    const { stage, queue, queues } = onSimulated()
    let bytes = 0
    for (let item = 0; item < 1_000; item += 1) {
      await push(queues, queue, [{ text: bulky(`n${item}`, 200) }])
      bytes = Math.max(bytes, await stage.recordBytes(queue))
    }
    expect(queues.wire.sent.length).toBeLessThanOrEqual(1_252)
    expect(bytes).toBeLessThanOrEqual(2_048)
  })

  it('a bulk push takes one more than its batch, and a pop of 100 from it reads it once.', async () => {
    const { stage, queues, queue, wire } = await setUp(1)
    const small = await wire.during(() => push(queues, queue, named('b', 200)))
    expect(small).toEqual(['BatchWriteCommand', 'UpdateCommand'])
    const large = Array.from({ length: 100 }, (_, n) => ({ text: bulky(`n${n}`, 400) }))
    const sent = await wire.during(() => push(queues, queue, large))
    expect(sent.slice(0, 2)).toEqual(['PutObjectCommand', 'UpdateCommand'])
    await drain(queues, queue, 67)
    await push(queues, queue, large)
    const cold = stage.engine()
    expect(await cold.wire.during(() => popItems(cold, queue, { count: 100 }))).toEqual([
      'GetCommand',
      'GetObjectCommand',
      'UpdateCommand',
    ])
  })

  it('a batch of 1,000 in S3 is read by one GET, however often it is popped, unless its parts are large.', async () => {
    for (const [bytes, gets] of [
      [50, 1],
      [350, 5],
      [1_500, 10],
    ] as const) {
      const { stage, queue, queues } = onSimulated()
      const items = Array.from({ length: 1_000 }, (_, n) => ({ text: bulky(`n${n}`, bytes) }))
      await push(queues, queue, items)
      const popper = stage.engine()
      const popped: string[] = []
      const sent = await popper.wire.during(async () => {
        for (let pop = 0; pop < 10; pop += 1) {
          const { items: some } = await popItems(popper, queue, { count: 100 })
          popped.push(...some.map(({ text }) => text))
        }
      })
      expect(popped).toEqual(items.map(({ text }) => text))
      expect(sent.filter((name) => name === 'GetObjectCommand')).toHaveLength(gets)
    }
  })

  it.each(['one producer', 'many producers'])(
    'a deep queue that bulk pushes of %s fill keeps four references in its record, and a short one does not seal.',
    async (who) => {
      const { stage, queue, queues } = onSimulated()
      const [tails, sealed]: [number[], number[]] = [[], []]
      for (let batch = 0; batch < 50; batch += 1) {
        await push(
          who === 'one producer' ? queues : stage.engine(),
          queue,
          Array.from({ length: 1_000 }, (_, n) => ({ text: bulky(`${batch} ${n}`, 20) })),
        )
        const lane = (await stage.record(queue)).lanes.get(0)
        tails.push(lane?.tail.length ?? 0)
        sealed.push(lane?.sealed ?? 0)
      }
      const deepFrom = sealed.findIndex((it) => it > 0)
      expect(deepFrom).toBeGreaterThan(20)
      expect(Math.max(...tails.slice(deepFrom))).toBeLessThan(6)
      expect(await drain(stage.engine(), queue)).toHaveLength(50_000)
    },
  )

  it('a pop of 100 items of 25 KB reads each part of their batch once.', async () => {
    const { stage, queue, queues } = onSimulated()
    const items = Array.from({ length: 100 }, (_, n) => ({ text: bulky(`n${n}`, 25_000) }))
    await push(queues, queue, items)
    const cold = stage.engine()
    const sent = await cold.wire.during(() => popItems(cold, queue, { count: 100 }))
    expect(sent).toEqual(['GetCommand', 'GetObjectCommand', 'UpdateCommand'])
  })

  it('a pop of 100 from S3 reads one object, whatever the depth.', async () => {
    const { stage, queue, queues } = onSimulated()
    for (let batch = 0; batch < 5; batch += 1) await push(queues, queue, named('a', 1_000))
    await pushOneByOne(queues, queue, named('b', 80))
    await tidy(queues, queue)
    await popItems(queues, queue, { count: 100 })
    await tidy(queues, queue)
    const cold = stage.engine()
    const sent = await cold.wire.during(() => popItems(cold, queue, { count: 100 }))
    expect(sent.length).toBeLessThanOrEqual(4)
  })

  it('looking at an empty queue from memory costs one read, and no write.', async () => {
    const { queues, queue, wire } = await setUp(1)
    await drain(queues, queue)
    expect(await wire.during(() => queues.pop(queue))).toEqual(['GetCommand'])
  })
})
