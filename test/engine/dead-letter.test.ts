import { describe, expect, it } from 'vitest'
import { REASON_CHARACTERS_MAX } from '../../engine/core/limits.ts'
import { useEmbedded } from './stage.ts'
import {
  bulky,
  drain,
  expectCode,
  lockItems,
  named,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

const stage = useEmbedded()

const deadLettersOf = (queue: string) => `${queue}-deadletter`

describe('Dead-lettering by hand', () => {
  it('moves a lock to the dead-letter queue with order, priority, time and reason.', async () => {
    const { queues, queue } = await stage.holding([...named('a', 3, 2), ...named('b', 2, 5)])
    const pushedAtMs = stage.clock.nowMs()
    stage.clock.pass(5_000)
    const { lock } = await lockItems(queues, queue, { count: 4 })
    const answer = await queues.deadLetter(queue, { lockId: lock.id, reason: 'cannot — 読めない' })
    expect(answer).toEqual({ itemsDeadLettered: 4, deadLetterQueue: deadLettersOf(queue) })
    const dead = await drain(stage.engine(), deadLettersOf(queue))
    const moved = { pushedAtMs, reason: 'cannot — 読めない', deliveries: 1 }
    expect(dead).toMatchObject([
      ...textsOf(named('a', 3)).map((text) => ({ text, priority: 2, ...moved })),
      { text: '"b0"', priority: 5, ...moved },
    ])
    expect(textsOf(await drain(queues, queue))).toEqual(['"b1"'])
    expect(await queues.deadLetter(queue, { lockId: lock.id })).toEqual(answer)
    expect(await drain(queues, deadLettersOf(queue))).toEqual([])
  })

  it('tells when an item died and how often it had been delivered, until it is redriven.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, named('a', 2))
    const first = await lockItems(queues, queue, { count: 1 })
    await queues.release(queue, { lockId: first.lock.id })
    const second = await lockItems(queues, queue, { count: 2 })
    stage.clock.pass(7_000)
    await queues.deadLetter(queue, { lockId: second.lock.id, reason: '(delivered 9 times)' })
    const died = { reason: '(delivered 9 times)', deadLetteredAtMs: stage.clock.nowMs() }
    const dead = await queues.browse(deadLettersOf(queue))
    expect(dead.items).toMatchObject([
      { text: '"a0"', deliveries: 0, ...died, priorDeliveries: 2 },
      { text: '"a1"', deliveries: 0, ...died, priorDeliveries: 1 },
    ])
    await queues.redrive(deadLettersOf(queue))
    for (const item of await drain(queues, queue)) {
      expect(item.deliveries).toBe(1)
      expect(item).not.toHaveProperty('priorDeliveries')
    }
  })

  it('of 100 large items moves all of them.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const items = named('a', 100).map(({ text }) => ({ text: text.padEnd(20_000, ' ') }))
    await push(queues, queue, items)
    const { lock } = await lockItems(queues, queue, { count: 100 })
    await queues.deadLetter(queue, { lockId: lock.id })
    expect(textsOf(await drain(queues, deadLettersOf(queue)))).toEqual(textsOf(items))
    expect((await queues.inspect(queue, { consistent: true })).count).toBe(0)
  })

  it('is refused for a reason that is too long or not text, and on a dead-letter queue.', async () => {
    const { queues, queue } = await stage.holding(named('a', 1))
    const { lock } = await lockItems(queues, queue)
    for (const reason of ['x'.repeat(REASON_CHARACTERS_MAX + 1), '\ud800']) {
      await expectCode(queues.deadLetter(queue, { lockId: lock.id, reason }), 'INVALID_PARAMETER')
    }
    const own = queues.deadLetter(deadLettersOf(queue), { lockId: lock.id })
    await expectCode(own, 'INVALID_QUEUE_ID')
    await expectCode(queues.deadLetter(queue, { lockId: 'unknown' }), 'INVALID_LOCK_ID')
    await queues.acknowledge(queue, { lockId: lock.id })
    await expectCode(queues.deadLetter(queue, { lockId: lock.id }), 'LOCK_EXPIRED')
  })
})

it('A dead-letter queue takes what is moved there though it is over its capacity and its tail is full.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(deadLettersOf(queue), { capacity: 1 })
  const items = Array.from({ length: 70 }, (_, n) => ({ text: bulky(`n${n}`, 300) }))
  await push(queues, queue, items)
  for (const _ of items) {
    const { lock } = await lockItems(queues, queue)
    await queues.deadLetter(queue, { lockId: lock.id })
  }
  expect(textsOf(await drain(queues, deadLettersOf(queue)))).toEqual(textsOf(items))
})

describe('If a queue has max_deliveries', () => {
  it('a pop that finds nothing else asks for the dead ones to be moved.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { maxDeliveries: 1 })
    await push(queues, queue, named('a', 2))
    await lockItems(queues, queue, { count: 2 })
    stage.clock.pass(31_000)
    for (const engine of [stage.engine(), queues]) {
      expect(await engine.pop(queue, { requireAck: true })).toEqual({ kind: 'empty' })
    }
    // What the table's stream wakes housekeeping by.
    expect((await stage.stored(queue))?.work).toBe('y')
    await queues.housekeep(queue)
    expect(textsOf(await drain(queues, deadLettersOf(queue)))).toEqual(['"a0"', '"a1"'])
  })

  it('an item that came back so often is not handed out again, and is moved in order.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { maxDeliveries: 2 })
    await push(queues, queue, [...named('a', 3), ...named('b', 1, 1)])
    for (const deliveries of [1, 2]) {
      const { lock, items } = await lockItems(queues, queue, { count: 2 })
      expect(items).toMatchObject([
        { text: '"a0"', deliveries },
        { text: '"a1"', deliveries },
      ])
      await queues.release(queue, { lockId: lock.id })
    }
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({
      count: 2,
      deadCount: 2,
    })
    expect(textsOf((await queues.browse(queue)).items)).toEqual(['"a2"', '"b0"'])
    const { lock } = await lockItems(stage.engine(), queue, { count: 9 })
    expect(await queues.housekeep(queue)).toMatchObject({ deadLettered: 2, finished: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    const dead = await drain(queues, deadLettersOf(queue))
    expect(dead).toMatchObject([
      { text: '"a0"', reason: 'max_deliveries', priorDeliveries: 2 },
      { text: '"a1"', reason: 'max_deliveries', priorDeliveries: 2 },
    ])
    expect(await drain(queues, queue)).toEqual([])
  })

  it('an expiry counts as well, and the sweeper moves what it makes dead.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { maxDeliveries: 1, segmentSize: 4 })
    await pushOneByOne(queues, queue, named('a', 60))
    await tidy(queues, queue)
    await lockItems(queues, queue, { count: 50, ttlSeconds: 1 })
    stage.clock.pass(1_000)
    const report = await queues.returnExpiredLocks()
    expect(report).toMatchObject({ itemsReturned: 50, itemsDeadLettered: 50, failed: [] })
    expect(textsOf(await drain(queues, deadLettersOf(queue)))).toEqual(textsOf(named('a', 50)))
    expect(textsOf(await drain(queues, queue))).toEqual(textsOf(named('a', 10, 0, 50)))
  })

  it('the sweeper counts what it moves for several queues at once.', async () => {
    const [queues, moved] = [stage.engine(), [1, 2, 3, 4]]
    for (const count of moved) {
      const queue = stage.queue()
      await queues.configure(queue, { maxDeliveries: 1 })
      await push(queues, queue, named('a', count))
      await lockItems(queues, queue, { count, ttlSeconds: 1 })
    }
    stage.clock.pass(1_000)
    expect(await queues.returnExpiredLocks()).toMatchObject({ itemsDeadLettered: 10, failed: [] })
  })

  it('a dead-letter queue has none itself, and its items may come back for ever.', async () => {
    const [queues, queue] = [stage.engine(), deadLettersOf(stage.queue())]
    await expectCode(queues.configure(queue, { maxDeliveries: 1 }), 'INVALID_PARAMETER')
    await push(queues, queue, named('a', 1))
    for (const deliveries of [1, 2, 3]) {
      const { lock, items } = await lockItems(queues, queue)
      expect(items).toMatchObject([{ text: '"a0"', deliveries }])
      await queues.release(queue, { lockId: lock.id })
    }
  })

  it('taken away, returned items stay in the queue.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { maxDeliveries: 1 })
    await push(queues, queue, named('a', 1))
    await queues.configure(queue, { maxDeliveries: null })
    const { lock } = await lockItems(queues, queue)
    await queues.release(queue, { lockId: lock.id })
    expect(await drain(queues, queue)).toMatchObject([{ text: '"a0"', deliveries: 2 }])
  })
})

describe('A redrive', () => {
  const setUp = async (dead: number) => {
    const { queues, queue } = await stage.holding([...named('a', dead), ...named('b', dead, 3)])
    for (let left = 2 * dead; left > 0; left -= 100) {
      const { lock } = await lockItems(queues, queue, { count: Math.min(100, left) })
      await queues.deadLetter(queue, { lockId: lock.id, reason: 'test' })
    }
    return { queues, queue, deadLetters: deadLettersOf(queue) }
  }

  it('brings everything back behind what is there, in order, with its priority and no reason.', async () => {
    const { queues, queue, deadLetters } = await setUp(120)
    await push(queues, queue, named('n', 2))
    const answer = await stage.engine().redrive(deadLetters)
    expect(answer).toEqual({ itemsRedriven: 240, itemsLeft: 0 })
    const items = await drain(queues, queue)
    expect(textsOf(items)).toEqual(
      textsOf([...named('n', 2), ...named('a', 120), ...named('b', 120, 3)]),
    )
    expect(items.every(({ reason, deliveries }) => reason === undefined && deliveries === 1)).toBe(
      true,
    )
    expect(await drain(queues, deadLetters)).toEqual([])
  })

  it('leaves what was pushed there by hand, and what is locked, in its place.', async () => {
    const { queues, queue, deadLetters } = await setUp(3)
    await push(queues, deadLetters, named('hand', 2))
    const { lock } = await lockItems(queues, deadLetters, { count: 1 })
    expect(await queues.redrive(deadLetters)).toEqual({ itemsRedriven: 5, itemsLeft: 3 })
    expect(await queues.redrive(deadLetters)).toEqual({ itemsRedriven: 0, itemsLeft: 3 })
    await queues.release(deadLetters, { lockId: lock.id })
    expect(await queues.redrive(deadLetters)).toEqual({ itemsRedriven: 1, itemsLeft: 2 })
    expect(textsOf(await drain(queues, deadLetters))).toEqual(textsOf(named('hand', 2)))
    expect(textsOf(await drain(queues, queue))).toEqual(
      ['a1', 'a2', 'a0', 'b0', 'b1', 'b2'].map((name) => `"${name}"`),
    )
  })

  it('is for dead-letter queues alone, and checks its limit.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await expectCode(queues.redrive(queue), 'INVALID_QUEUE_ID')
    await expect(queues.redrive(queue)).rejects.toThrow(`dead letters are in "${queue}-deadletter"`)
    for (const limit of [0, 1_001, 1.5]) {
      await expectCode(queues.redrive(deadLettersOf(queue), { limit }), 'INVALID_PARAMETER')
    }
    const nothing = { itemsRedriven: 0, itemsLeft: 0 }
    expect(await queues.redrive(deadLettersOf(queue))).toEqual(nothing)
  })
})
