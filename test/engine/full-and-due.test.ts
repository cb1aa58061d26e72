import { describe, expect, it } from 'vitest'
import { isPatient } from '../../engine/core/record.ts'
import type { PopRequest, PushItem, Queues } from '../../engine/queues.ts'
import { throttling } from '../../testing/simulated/network.ts'
import { openSimulated } from './stage.ts'
import { bulky, expectCode, lockItems, named, popItems, push, textsOf } from './traffic.ts'
import { losingRaces } from './wire.ts'

// Items are due in a queue that is full: they wait for room, and what becomes free is theirs.

/** A full queue in which so many items are due; the sweeper has been there, and comes again in a minute. */
async function fullAndDue(capacity: number, due: number, waiting = capacity) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { capacity })
  const later = Array.from(
    { length: due },
    (_, n): PushItem => ({ text: `"due${n}"`, delaySeconds: 10 }),
  )
  for (const item of later) await push(queues, queue, [item])
  await push(queues, queue, named('a', waiting))
  stage.clock.pass(20_000)
  return { stage, queues, queue }
}

/** A queue keeps no more room than all that is scheduled would take. */
const muchLater: readonly PushItem[] = [1, 2].map((n) => ({ text: `${n}`, delaySeconds: 3_600 }))

/** A producer that gets `QUEUE_FULL` tries again later. */
async function pushIfRoom(queues: Queues, queue: string, items: readonly PushItem[]) {
  await push(queues, queue, items).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'QUEUE_FULL' })
  })
}

/** Pops and acknowledges with the next pop, until the queue is empty. */
async function work(queues: Queues, queue: string, request: PopRequest) {
  const [texts, acknowledgements]: [string[], (number | undefined)[]] = [[], []]
  let acknowledge: string | undefined
  for (;;) {
    const popped = await queues.pop(queue, { ...request, requireAck: true, acknowledge })
    if (popped.kind === 'locked') throw new Error('Locked')
    acknowledgements.push(popped.itemsAcknowledged)
    if (popped.kind === 'empty') return { texts, acknowledgements, more: popped.more }
    texts.push(...textsOf(popped.items))
    acknowledge = popped.lock?.id
  }
}

describe('A pop that acknowledges', () => {
  it.each([false, true])(
    'goes on with what is due, and tells what it acknowledged (competing: %s).',
    async (competing) => {
      const { queues, queue } = await fullAndDue(2, 4)
      expect(await work(queues, queue, { count: 2, competing })).toEqual({
        texts: ['"a0"', '"a1"', '"due0"', '"due1"', '"due2"', '"due3"'],
        acknowledgements: [undefined, 2, 2, 2],
        more: undefined,
      })
    },
  )

  it.each([false, true])(
    'ends where more has expired than one call can pass over, and says so (acknowledges: %s).',
    async (acknowledges) => {
      const stage = openSimulated()
      const [queues, queue] = [stage.engine(), stage.queue()]
      await queues.configure(queue, { capacity: 5 })
      const item: PushItem = { text: '1', delaySeconds: 10, expiresInSeconds: 20 }
      for (let n = 0; n < 4; n += 1)
        await push(
          queues,
          queue,
          Array.from({ length: 50 }, () => item),
        )
      let acknowledge: string | undefined
      if (acknowledges) {
        await push(queues, queue, named('a', 5))
        acknowledge = (await lockItems(queues, queue, { count: 5 })).lock.id
      }
      stage.clock.pass(25_000)
      // In all it takes longer than a pop tries to get at items whose join is held up.
      const slow = stage.engine({ before: () => stage.clock.pass(100) })
      let pops = 0
      for (let isMore = true; isMore; pops += 1) {
        const popped = await slow.pop(queue, { acknowledge })
        expect(popped.kind).toBe('empty')
        expect(popped.kind === 'empty' && popped.itemsAcknowledged).toBe(acknowledge && 5)
        isMore = popped.kind === 'empty' && popped.more === true
        acknowledge = undefined
      }
      expect(pops).toBeGreaterThan(1)
      expect(await queues.inspect(queue, { consistent: true })).toMatchObject({
        count: 0,
        scheduledCount: 0,
      })
    },
  )

  it('lets what is due join even if a first try, by what the process remembered, found no room.', async () => {
    const { stage, queues, queue } = await fullAndDue(2, 2)
    const consumer = stage.engine()
    const [first, second] = [
      await lockItems(consumer, queue, { competing: true }),
      await lockItems(consumer, queue, { competing: true }),
    ]
    // It remembers this room. Meanwhile another process uses it for an item that is due, which a consumer then locks.
    await consumer.acknowledge(queue, { lockId: second.lock.id })
    await stage.engine().returnExpiredLocks()
    await lockItems(queues, queue, { competing: true })
    const acknowledge = first.lock.id
    const popped = await popItems(consumer, queue, { acknowledge, competing: true })
    expect(textsOf(popped.items)).toEqual(['"due1"'])
    expect(popped.itemsAcknowledged).toBe(1)
  })

  it('tries again to fold what others have acknowledged if the store refused that.', async () => {
    const { stage, queues, queue } = await fullAndDue(2, 1)
    const { lock } = await lockItems(queues, queue, { count: 2, competing: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    const isFolded = () => stage.background.some(({ step }) => step === 'fold')
    const pops = stage.engine({
      before({ name }) {
        if (name === 'UpdateCommand' && !isFolded()) throw throttling()
      },
    })
    expect(textsOf((await popItems(pops, queue)).items)).toEqual(['"due0"'])
  })

  it('folds again if another write was first, so that what is due joins before it takes.', async () => {
    const { stage, queues, queue } = await fullAndDue(2, 1)
    const { lock } = await lockItems(queues, queue, { competing: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    let isFirst = true
    const pops = stage.engine({
      async before({ name }) {
        if (name !== 'UpdateCommand' || !isFirst) return
        isFirst = false
        await stage.engine().configure(queue, { maxDeliveries: 7 })
      },
    })
    await popItems(pops, queue)
    expect((await stage.record(queue)).scheduled.items).toBe(0)
  })

  it('says that there is more if it made room for what is due.', async () => {
    const { queues, queue } = await fullAndDue(3, 2)
    const { lock } = await lockItems(queues, queue, { count: 2, competing: true })
    const acknowledge = lock.id
    const popped = await popItems(queues, queue, {
      acknowledge,
      count: 3,
      requireAck: true,
      competing: true,
    })
    expect(textsOf(popped.items)).toEqual(['"a2"'])
    expect(popped).toMatchObject({ more: true, itemsAcknowledged: 2 })
    const next = await popItems(queues, queue, { count: 3, requireAck: true, competing: true })
    expect(textsOf(next.items)).toEqual(['"due0"', '"due1"'])
    expect(next.more).toBe(false)
  })

  it('gets what is due, though others took the room that it remembers.', async () => {
    const { stage, queues, queue } = await fullAndDue(2, 2)
    const { lock } = await lockItems(queues, queue)
    // By what this process remembers from now on, there is room for one.
    await queues.cancel(
      queue,
      (await queues.browse(queue)).items.slice(1).map(({ id }) => id),
    )
    await stage.engine().returnExpiredLocks()
    expect(textsOf((await lockItems(stage.engine(), queue, { competing: true })).items)).toEqual([
      '"due0"',
    ])
    const { items } = await popItems(queues, queue, {
      acknowledge: lock.id,
      requireAck: true,
      competing: true,
    })
    expect(textsOf(items)).toEqual(['"due1"'])
  })

  it('gets what is due once others have made room, though it found none at first.', async () => {
    const { stage, queue } = await fullAndDue(2, 1, 1)
    const other = stage.engine()
    const late = stage.engine(losingRaces(1, () => popItems(other, queue, { count: 2 })))
    // It remembers room for one, which an item takes that it has not seen.
    await push(late, queue, [{ text: '"later"', delaySeconds: 1_000 }])
    await push(other, queue, named('b', 1))
    expect(textsOf((await popItems(late, queue)).items)).toEqual(['"due0"'])
  })

  it('tells what it acknowledged, and to come again, if another consumer then locks what came due.', async () => {
    const { stage, queues, queue } = await fullAndDue(1, 1)
    const { lock } = await lockItems(queues, queue)
    let isOther = false
    const pops = stage.engine({
      async before({ name }) {
        // Its acknowledgement is written, and it is about to join.
        const record = await stage.record(queue)
        if (isOther || name !== 'UpdateCommand' || record.locks.size > 0) return
        isOther = true
        await lockItems(stage.engine(), queue)
      },
    })
    expect(await pops.pop(queue, { requireAck: true, acknowledge: lock.id })).toEqual({
      kind: 'empty',
      more: true,
      itemsAcknowledged: 1,
    })
    expect(isOther).toBe(true)
  })
})

describe('Room that becomes free while something is due', () => {
  it.each<[string, PopRequest]>([
    ['a claim', { requireAck: true, competing: true }],
    ['a pop without a lock', { competing: true }],
  ])('by an acknowledgement is seen by %s of a process that knows of none.', async (_, request) => {
    const { stage, queues, queue } = await fullAndDue(3, 1)
    const { lock } = await lockItems(queues, queue, { competing: true })
    const other = stage.engine()
    await lockItems(other, queue, { competing: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    await popItems(other, queue, request)
    expect((await stage.record(queue)).scheduled.items).toBe(0)
  })

  it.each<[string, (queues: Queues, queue: string) => Promise<unknown>]>([
    ['a pop', (queues, queue) => popItems(queues, queue)],
    [
      'an acknowledgement of some items',
      async (queues, queue) => {
        const { lock, items } = await lockItems(queues, queue, { count: 2 })
        const ids = [items[0]?.id as string]
        await queues.acknowledge(queue, { lockId: lock.id, ids })
      },
    ],
    ['a larger capacity', (queues, queue) => queues.configure(queue, { capacity: 6 })],
  ])('calls Wake: %s.', async (_, free) => {
    const { stage, queues, queue } = await fullAndDue(5, 1)
    await stage.engine().returnExpiredLocks()
    expect(isPatient((await stage.record(queue)).checkAtMs as number)).toBe(true)
    await free(queues, queue)
    const { checkAtMs, near } = await stage.record(queue)
    expect(checkAtMs).toBeLessThanOrEqual(stage.clock.now)
    expect([isPatient(checkAtMs as number), near]).toEqual([false, true])
    await stage.engine().returnExpiredLocks()
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ scheduledCount: 0 })
  })

  it.each<[string, (queues: Queues, queue: string) => Promise<string[]>]>([
    ['at once', async (queues, queue) => textsOf((await popItems(queues, queue)).items)],
    [
      'with an acknowledgement',
      async (queues, queue) => {
        const { lock, items } = await lockItems(queues, queue, { competing: true })
        await queues.acknowledge(queue, { lockId: lock.id })
        return textsOf(items)
      },
    ],
  ])(
    'is not taken by producers who keep the queue full: what is due comes in its turn (%s).',
    async (_, take) => {
      const { stage, queues, queue } = await fullAndDue(5, 1)
      const [producer, seen]: [Queues, string[]] = [stage.engine(), []]
      for (let pops = 0; pops < 10; pops += 1) {
        seen.push(...(await take(queues, queue)))
        await pushIfRoom(producer, queue, named('b', 1, 0, pops))
      }
      // Behind the five that were there when it came due.
      expect(seen.indexOf('"due0"')).toBe(5)
    },
  )

  it('goes to pushes again once nothing is due any more.', async () => {
    const { stage, queues, queue } = await fullAndDue(5, 1)
    await push(queues, queue, muchLater)
    await popItems(queues, queue, { count: 3 })
    expect(await stage.record(queue)).toMatchObject({ room: 0, keptRoom: 3 })
    // The push lets the due item join, and takes of what is left.
    await push(stage.engine(), queue, named('b', 1))
    expect(await stage.record(queue)).toMatchObject({ room: 1, keptRoom: 0 })
    await expectCode(push(stage.engine(), queue, named('b', 2)), 'QUEUE_FULL')
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({
      count: 4,
      scheduledCount: 2,
    })
  })

  it('goes to pushes at once where it is more than all that is scheduled would take.', async () => {
    const { stage, queues, queue } = await fullAndDue(5, 1)
    await queues.configure(queue, { capacity: null })
    expect((await stage.record(queue)).keptRoom).toBe(1)
    const producer = stage.engine()
    const requests = await producer.wire.during(() => push(producer, queue, named('b', 1)))
    expect(requests).toEqual(['UpdateCommand'])
  })

  it('goes to pushes again if what was due is cancelled or purged.', async () => {
    const { stage, queues, queue } = await fullAndDue(5, 1)
    await push(queues, queue, muchLater)
    await popItems(queues, queue, { count: 3 })
    const { items } = await queues.scheduled(queue)
    await queues.cancel(
      queue,
      items.map(({ id }) => id),
    )
    await push(stage.engine(), queue, named('b', 3))
    expect(await stage.record(queue)).toMatchObject({ room: 0, keptRoom: 0 })
  })

  it('never lets a queue hold more than its capacity, even if all come at once.', async () => {
    const { stage, queues, queue } = await fullAndDue(6, 40)
    const most: number[] = []
    const taken: string[] = []
    for (let round = 0; round < 30; round += 1) {
      const [a, b, c, d] = [stage.engine(), stage.engine(), stage.engine(), stage.engine()]
      const popped = await Promise.all([
        a.pop(queue, { count: 1 + (round % 4) }),
        b.pop(queue, { count: 2 }),
        pushIfRoom(c, queue, named('b', 1 + (round % 2), 0, 10 * round)),
        pushIfRoom(d, queue, named('c', 1, 0, round)),
        c.returnExpiredLocks(),
      ])
      for (const one of popped.slice(0, 2) as Awaited<ReturnType<Queues['pop']>>[]) {
        if (one.kind === 'items') taken.push(...textsOf(one.items))
      }
      const { count } = await queues.inspect(queue, { consistent: true })
      const { room, keptRoom } = await stage.record(queue)
      expect(room + keptRoom).toBe(6 - count)
      most.push(count)
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(6)
    expect(taken.filter((text) => text.startsWith('"due'))).toHaveLength(40)
  })
})

describe('An item that comes due after one that waits for room', () => {
  /** The sweeper has put the timer off, because the queue is full. */
  async function putOff() {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { ids } = await push(queues, queue, [{ text: '"first"', delaySeconds: 10 }])
    await push(queues, queue, [{ text: '"next"', delaySeconds: 40 }])
    stage.clock.pass(10_200)
    await stage.engine().returnExpiredLocks()
    return { stage, queues, queue, ids }
  }

  it.each<[string, (at: Awaited<ReturnType<typeof putOff>>) => Promise<unknown>]>([
    [
      'joins, where a process by whose clock it was not due has made the room',
      async ({ stage, queues, queue }) => {
        await popItems(stage.engine({ clock: stage.clock.skewed(-300) }), queue)
        await lockItems(queues, queue)
      },
    ],
    [
      'is cancelled',
      async ({ queues, queue, ids }) => {
        await queues.cancel(queue, ids)
        await popItems(queues, queue)
      },
    ],
    [
      'is moved to a later time',
      async ({ stage, queues, queue, ids }) => {
        await queues.move(queue, { ids, deliverAtMs: stage.clock.nowMs() + 3_600_000 })
        await popItems(queues, queue)
      },
    ],
    [
      'is moved to another queue',
      async ({ stage, queues, queue, ids }) => {
        const to = stage.queue()
        await push(queues, to, named('b', 1))
        await queues.move(queue, { ids, queue: to })
        await popItems(queues, queue)
      },
    ],
  ])('has its timer once that one %s.', async (_, take) => {
    const at = await putOff()
    await take(at)
    const { checkAtMs, scheduled } = await at.stage.record(at.queue)
    expect(scheduled.items).toBeGreaterThan(0)
    expect(checkAtMs).toBeLessThanOrEqual(at.stage.clock.nowMs() + 29_800)
  })

  it('has its timer once a cancel has taken all of a row that was due.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 2 })
    await push(queues, queue, named('a', 2))
    const ids: string[] = []
    for (let n = 0; n < 20; n += 1) {
      ids.push(...(await push(queues, queue, [{ text: bulky('x', 150), delaySeconds: 10 }])).ids)
    }
    await push(queues, queue, [{ text: '"next"', delaySeconds: 40 }])
    stage.clock.pass(10_200)
    await stage.engine().returnExpiredLocks()
    expect((await stage.record(queue)).scheduled.nextDue).toBeDefined()
    await queues.cancel(queue, ids)
    // What is acknowledged makes room, so the pop looks which row is due now.
    const { lock } = await lockItems(queues, queue, { competing: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    await popItems(queues, queue, { competing: true })
    expect((await stage.record(queue)).checkAtMs).toBeLessThanOrEqual(stage.clock.nowMs() + 29_800)
  })
})
