import { describe, expect, it } from 'vitest'
import { openSimulated, type Stage } from './stage.ts'
import { lockItems, named, popItems, push, pushOneByOne } from './traffic.ts'

/** The marks that events are made of: `dry` while nothing is free to pop, `ev` where more is to tell. */

async function setUp(items: number, events = true) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine({ events }), 'queue']
  if (items > 0) await pushOneByOne(queues, queue, named('a', items))
  return { stage, queues, queue, wire: queues.wire }
}

const marksOf = async (stage: Stage, queue: string) => {
  const { dry, notable } = await stage.record(queue)
  return [dry && 'dry', notable && 'notable'].filter((mark) => mark !== false).join()
}
const competing = { requireAck: true, competing: true }

describe('A queue is marked as dry', () => {
  it('by the very write that pops, or locks, its last item.', async () => {
    for (const requireAck of [false, true]) {
      const { stage, queues, queue, wire } = await setUp(2)
      await popItems(queues, queue, { requireAck: false })
      expect(await marksOf(stage, queue)).toBe('')
      const sent = await wire.during(() => popItems(queues, queue, { requireAck }))
      expect(sent).toEqual(['UpdateCommand'])
      expect(await marksOf(stage, queue)).toBe('dry')
    }
  })

  it('right after the claim that took its last item, which could not know that it was the last.', async () => {
    const { stage, queues, queue, wire } = await setUp(3)
    await lockItems(queues, queue, competing)
    expect(await wire.during(() => lockItems(queues, queue, competing))).toEqual(['UpdateCommand'])
    expect(await marksOf(stage, queue)).toBe('')
    const last = await wire.during(() => lockItems(queues, queue, competing))
    expect(last).toEqual(['UpdateCommand', 'UpdateCommand'])
    expect(await marksOf(stage, queue)).toBe('dry')
  })

  it('by the pop that acknowledges and finds nothing, in one write.', async () => {
    const { stage, queues, queue, wire } = await setUp(1)
    const off = stage.engine({ events: false })
    const { lock } = await lockItems(off, queue)
    expect(await marksOf(stage, queue)).toBe('')
    await queues.inspect(queue, { consistent: true })
    const request = { requireAck: true, acknowledge: lock.id }
    const sent = await wire.during(() => queues.pop(queue, request))
    expect(sent.filter((name) => name === 'UpdateCommand')).toHaveLength(1)
    expect(await marksOf(stage, queue)).toBe('dry')
  })

  it('by a pop that finds it empty and unmarked; the next finds the mark, and writes nothing.', async () => {
    const { stage, queue } = await setUp(1)
    await popItems(stage.engine({ events: false }), queue)
    const { wire, ...queues } = stage.engine()
    const empty = () => queues.pop(queue, {})
    expect(await wire.during(empty)).toEqual(['GetCommand', 'UpdateCommand'])
    expect(await marksOf(stage, queue)).toBe('dry')
    expect(await wire.during(empty)).toEqual(['GetCommand'])
  })

  it('by a purge, and when it is made without items.', async () => {
    const { stage, queues, queue } = await setUp(3)
    await queues.purge(queue)
    expect(await marksOf(stage, queue)).toBe('dry')
    await queues.configure('other', { segmentSize: 10 })
    expect(await marksOf(stage, 'other')).toBe('dry')
  })

  it('by the sweeper, if the process that took the last item died before it said so.', async () => {
    const { stage, queues, queue } = await setUp(2)
    const dying = stage.engine({
      before: ({ input }) => {
        if (String(input.UpdateExpression).startsWith('SET dry')) throw new Error('died')
      },
    })
    const locks = [
      await lockItems(dying, queue, competing),
      await lockItems(dying, queue, competing),
    ]
    expect(stage.background.map(({ step }) => step)).toEqual(['leave-dry'])
    for (const { lock } of locks) await queues.acknowledge(queue, { lockId: lock.id })
    expect(await marksOf(stage, queue)).toBe('')
    stage.clock.pass(40_000)
    await queues.returnExpiredLocks()
    expect(await marksOf(stage, queue)).toBe('dry')
  })

  it('or else the answer of a caller that could not leave the mark makes it ask again.', async () => {
    const { stage, queue } = await setUp(1)
    const failing = stage.engine({
      before: ({ input }) => {
        if (String(input.UpdateExpression).startsWith('SET dry')) throw new Error('no')
      },
    })
    await popItems(stage.engine({ events: false }), queue)
    await push(failing, queue, named('b', 2))
    const first = await failing.pop(queue, { ...competing, count: 1 })
    const last = await failing.pop(queue, { ...competing, count: 1 })
    expect([first, last]).toMatchObject([{ more: false }, { more: true }])
  })
})

describe('The mark goes', () => {
  it('with any push, at no cost.', async () => {
    const { stage, queues, queue, wire } = await setUp(1)
    await popItems(queues, queue)
    expect(await wire.during(() => push(queues, queue, named('b', 1)))).toEqual(['UpdateCommand'])
    expect(await marksOf(stage, queue)).toBe('')
  })

  it('when a lock ends with its items unsettled, which is notable too.', async () => {
    const { stage, queues, queue } = await setUp(2)
    const { lock } = await lockItems(queues, queue, { count: 2 })
    expect(await marksOf(stage, queue)).toBe('dry')
    await queues.release(queue, { lockId: lock.id })
    expect(await marksOf(stage, queue)).toBe('notable')
    await lockItems(queues, queue, { count: 2 })
    expect(await marksOf(stage, queue)).toBe('dry')
    stage.clock.pass(40_000)
    await queues.returnExpiredLocks()
    expect(await marksOf(stage, queue)).toBe('notable')
    await push(queues, queue, named('c', 1))
    expect(await marksOf(stage, queue)).toBe('')
  })

  it('not when an acknowledge ends the last lock.', async () => {
    const { stage, queues, queue } = await setUp(1)
    const { lock } = await lockItems(queues, queue)
    await queues.acknowledge(queue, { lockId: lock.id })
    expect(await marksOf(stage, queue)).toBe('dry')
  })
})

it('Without events, nothing is marked and nothing is spent.', async () => {
  const { stage, queues, queue, wire } = await setUp(2, false)
  await lockItems(queues, queue, competing)
  expect(await wire.during(() => lockItems(queues, queue, competing))).toEqual(['UpdateCommand'])
  expect(await wire.during(() => queues.pop(queue, competing))).toEqual(['GetCommand'])
  expect(await marksOf(stage, queue)).toBe('')
})
