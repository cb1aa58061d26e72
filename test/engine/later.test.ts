import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../engine/create-engine.ts'
import type { PushItem, Queues } from '../../engine/queues.ts'
import { cancelScheduled, rescheduled } from '../../engine/verbs/take-later.ts'
import '../support/engine-loaded.ts'
import { openSimulated } from './stage.ts'
import { bulky, drain, lockItems, named, popItems, push, textsOf } from './traffic.ts'
import { freezeAtTransaction, freezeAtUpdate, timedOut } from './wire.ts'

// Items for later: in no pop before their time, in their lane from then on, once.

const inSeconds = (text: string, delaySeconds: number, priority = 0): PushItem => ({
  text: `"${text}"`,
  delaySeconds,
  priority,
})

const kindOf = async (queues: Queues, queue: string) => (await queues.pop(queue)).kind

describe('An item for later', () => {
  it('is in no pop until its second has begun, and then in the next.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding([inSeconds('a', 5)])
    const dueMs = 1_000 * Math.ceil((stage.clock.nowMs() + 5_000) / 1_000)
    expect(await kindOf(queues, queue)).toBe('empty')
    stage.clock.pass(dueMs - stage.clock.nowMs() - 1)
    expect(await kindOf(queues, queue)).toBe('empty')
    expect(await kindOf(stage.engine(), queue)).toBe('empty')
    stage.clock.pass(1)
    const { items } = await popItems(queues, queue)
    expect(items).toMatchObject([{ text: '"a"', dueMs, pushedAtMs: expect.any(Number) }])
    expect(await kindOf(queues, queue)).toBe('empty')
  })

  it('has the id that its push answered as its scheduled id, once it is listed and popped.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const { ids } = await push(queues, queue, [inSeconds('a', 5), ...named('b', 1)])
    expect(ids[0]).toMatch(/^t-/)
    expect(ids[1]).not.toMatch(/^t-/)
    const pushedAtMs = stage.clock.nowMs()
    stage.clock.pass(10_000)
    await stage.engine().returnExpiredLocks()
    const listed = await queues.browse(queue, { order: 'newest' })
    expect(listed.items[0]).toMatchObject({ state: 'ready', scheduledId: ids[0], pushedAtMs })
    expect(listed.items[1]).not.toHaveProperty('scheduledId')
    const items = await drain(queues, queue)
    expect(listed.items[0]?.dueMs).toBe(items[1]?.dueMs)
    expect(textsOf(items)).toEqual(['"b0"', '"a"'])
    expect(items[1]).toMatchObject({ scheduledId: ids[0], pushedAtMs })
  })

  it('counts as scheduled, and not as waiting, and keeps an empty queue from being forgotten.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding([inSeconds('a', 3_600)])
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 1 })
    stage.clock.pass(1_800_000)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 1 })
    stage.clock.pass(1_800_001)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: 1, scheduledCount: 0 })
  })

  it('is announced when the sweeper lets it join.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding([inSeconds('a', 60)])
    await queues.pop(queue)
    stage.announced.length = 0
    stage.clock.pass(61_000)
    await stage.engine().returnExpiredLocks()
    expect(stage.announced).toEqual([`${queue}: items-available`])
  })

  it('whose time is past is pushed at once.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const deliverAtMs = stage.clock.nowMs() - 1
    const { ids } = await push(queues, queue, [{ text: '1', deliverAtMs }, inSeconds('a', 0)])
    expect(ids.every((id) => !id.startsWith('t-'))).toBe(true)
    expect(textsOf((await popItems(queues, queue, { count: 2 })).items)).toEqual(['1', '"a"'])
  })

  it('joins behind what was pushed until then, before what is pushed after.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, [inSeconds('due', 2)])
    await push(queues, queue, named('before', 1))
    stage.clock.pass(3_000)
    await queues.returnExpiredLocks()
    await push(queues, queue, named('after', 1))
    expect(textsOf(await drain(queues, queue))).toEqual(['"before0"', '"due"', '"after0"'])
  })

  it('of a better priority goes before what waits, also where a claim would pass it by.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, named('low', 5, 5))
    await push(queues, queue, [inSeconds('high', 2, 1)])
    const claim = { competing: true, requireAck: true } as const
    expect(textsOf((await popItems(queues, queue, claim)).items)).toEqual(['"low0"'])
    const other = stage.engine()
    expect(textsOf((await popItems(other, queue, claim)).items)).toEqual(['"low1"'])
    stage.clock.pass(3_000)
    expect(textsOf((await popItems(other, queue, claim)).items)).toEqual(['"high"'])
    expect(textsOf((await popItems(queues, queue, claim)).items)).toEqual(['"low2"'])
  })

  it('of a better priority goes before what waits, also where a pop does not know of it.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding(named('b', 3, 5))
    await popItems(queues, queue)
    await push(stage.engine(), queue, [inSeconds('a', 1)])
    stage.clock.pass(2_000)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a"'])
  })

  it('that is not due makes no pop wait that does not know of it.', async () => {
    const stage = openSimulated()
    const { queues, queue } = await stage.holding(named('b', 3, 5))
    await popItems(queues, queue)
    await push(stage.engine(), queue, [inSeconds('a', 60)])
    expect(await queues.wire.during(() => popItems(queues, queue))).toEqual(['UpdateCommand'])
  })
})

describe('Many items for later', () => {
  it('come in the order of their times, and of their pushes where these are the same.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const wanted: string[][] = [[], [], []]
    for (let n = 0; n < 90; n += 1) {
      const group = n % 3
      const text = bulky(`n${n}`, 100)
      wanted[group]?.push(text)
      await push(queues, queue, [{ text, delaySeconds: 100 + 10 * group }])
    }
    expect((await stage.store.rows()).some(({ pk }) => `${pk}`.startsWith(`t#${queue}#`))).toBe(
      true,
    )
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 90 })
    stage.clock.pass(200_000)
    expect(textsOf(await drain(queues, queue))).toEqual(wanted.flat())
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 0 })
    expect((await stage.store.rows()).filter(({ pk }) => `${pk}`.startsWith('t#'))).toEqual([])
    expect(stage.background).toEqual([])
  })

  it('go by reference in a bulk, and have their ids.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const items = Array.from({ length: 1_000 }, (_, n) => ({
      text: bulky(`n${n}`, 100),
      delaySeconds: 50,
      priority: n % 2,
    }))
    const { ids } = await push(queues, queue, items)
    expect(new Set(ids).size).toBe(1_000)
    stage.clock.pass(51_000)
    const popped = await drain(queues, queue)
    expect(popped).toHaveLength(1_000)
    const texts = new Map(items.map(({ text }, n) => [ids[n], text]))
    for (const { scheduledId, text } of popped) expect(texts.get(scheduledId)).toBe(text)
  })

  it('wait while the queue is full, and join as far as there is room.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 30 })
    for (let n = 0; n < 40; n += 1) {
      await push(queues, queue, [{ text: bulky(`n${n}`, 100), delaySeconds: 10 }])
    }
    const bulk = Array.from({ length: 100 }, (_, n) => ({
      text: bulky(`b${n}`, 100),
      delaySeconds: 20,
    }))
    await push(queues, queue, bulk)
    stage.clock.pass(30_000)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: 30, scheduledCount: 110 })
    const popped = await drain(queues, queue, 7)
    expect(popped.map(({ text }) => text.slice(1, 4).replace(':', ''))).toEqual([
      ...Array.from({ length: 40 }, (_, n) => `n${n}`),
      ...Array.from({ length: 100 }, (_, n) => `b${n}`),
    ])
  })
})

describe('A pop that waits at a full queue', () => {
  it('gets what comes due in the place of items that were acknowledged.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { lock } = await lockItems(queues, queue, { competing: true })
    await push(queues, queue, [inSeconds('b', 2)])
    await queues.acknowledge(queue, { lockId: lock.id })
    const startMs = stage.clock.nowMs()
    const popped = await queues.pop(queue, { waitSeconds: 20 })
    expect(popped).toMatchObject({ kind: 'items', items: [{ text: '"b"' }] })
    expect(stage.clock.nowMs() - startMs).toBeLessThan(4_000)
  })
})

describe('With an Idempotency-Key', () => {
  const items: PushItem[] = [
    inSeconds('a', 5),
    ...named('b', 2),
    inSeconds('c', 7, 3),
    ...Array.from({ length: 30 }, (_, n) => ({ text: bulky(`d${n}`, 100), delaySeconds: 9 })),
  ]

  it('a repeated push answers the same ids, by its note and by its receipt, and changes nothing.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const first = await queues.push(queue, { items, idempotencyKey: 'k' })
    expect(await queues.push(queue, { items, idempotencyKey: 'k' })).toEqual({
      ids: first.ids,
      repeated: true,
    })
    stage.clock.pass(2_000)
    await push(queues, queue, [{ text: bulky('x', 900) }])
    await push(queues, queue, [{ text: bulky('y', 900) }])
    expect((await stage.rows(queue, 'i')).length).toBe(1)
    stage.clock.pass(20_000)
    expect(await stage.engine().push(queue, { items, idempotencyKey: 'k' })).toEqual({
      ids: first.ids,
      repeated: true,
    })
    const popped = await drain(queues, queue)
    expect(popped).toHaveLength(items.length + 2)
    const ids = popped.map(({ scheduledId, id }) => scheduledId ?? id)
    expect(first.ids.every((id) => ids.includes(id))).toBe(true)
  })

  it('and another time for an item is another push.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.push(queue, { items: [inSeconds('a', 5)], idempotencyKey: 'k' })
    const other = queues.push(queue, { items: [inSeconds('a', 6)], idempotencyKey: 'k' })
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  })
})

describe('A push refuses', () => {
  it.each([
    [{ delaySeconds: 1, deliverAtMs: 1 }, 'deliver_at'],
    [{ delaySeconds: -1 }, 'delay_seconds'],
    [{ delaySeconds: 157_766_401 }, 'delay_seconds'],
    [{ delaySeconds: Number.NaN }, 'delay_seconds'],
    [{ deliverAtMs: 1e15 }, 'deliver_at'],
  ])('a time such as %o, and names the field.', async (times, field) => {
    const stage = openSimulated()
    const pushed = push(stage.engine(), stage.queue(), [{ text: '1', ...times }])
    await expect(pushed).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field })
  })
})

describe('The list of what is scheduled', () => {
  it('is in the order of time, page by page, over the record, rows and batches.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const pushed: { id: string | undefined; text: string; delaySeconds: number }[] = []
    for (let n = 0; n < 60; n += 1) {
      const one = { text: bulky(`n${n}`, 80), delaySeconds: 100 + ((n * 37) % 11) }
      pushed.push({ ...one, id: (await push(queues, queue, [one])).ids[0] })
    }
    const bulk = Array.from({ length: 40 }, (_, n) => ({
      text: bulky(`b${n}`, 80),
      delaySeconds: 105,
    }))
    const { ids } = await push(queues, queue, bulk)
    pushed.push(...bulk.map((item, n) => ({ ...item, id: ids[n] })))
    const listed: string[] = []
    let cursor: string | undefined
    do {
      const page = await queues.scheduled(queue, { limit: 7, ...(cursor && { cursor }) })
      for (const { id, text, dueMs } of page.items) {
        const one = pushed.find((other) => other.id === id)
        expect(one?.text).toBe(text)
        expect(dueMs).toBe(stage.clock.nowMs() + 1_000 * (one?.delaySeconds ?? 0))
        listed.push(id)
      }
      ;({ cursor } = page)
    } while (cursor !== undefined)
    const wanted = pushed.toSorted((a, b) => a.delaySeconds - b.delaySeconds).map(({ id }) => id)
    expect(listed).toEqual(wanted)
    const second = stage.clock.nowMs() + 105_000
    const { items } = await queues.scheduled(queue, { limit: 100, fromMs: second, toMs: second })
    expect(items.map(({ id }) => id)).toEqual(
      pushed.filter(({ delaySeconds }) => delaySeconds === 105).map(({ id }) => id),
    )
  })
})

describe('A purge', () => {
  it('without a priority empties what is scheduled as well, in rows and batches too.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    for (let n = 0; n < 30; n += 1) {
      await push(queues, queue, [{ text: bulky(`n${n}`, 100), delaySeconds: 10 + n }])
    }
    await push(
      queues,
      queue,
      Array.from({ length: 50 }, (_, n) => inSeconds(`b${n}`, 20)),
    )
    await push(queues, queue, named('now', 2))
    expect(await queues.purge(queue, { priority: 0 })).toEqual({ itemsPurged: 2 })
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 80 })
    expect(await queues.purge(queue)).toEqual({ itemsPurged: 80 })
    await push(queues, queue, [inSeconds('after', 5)])
    stage.clock.pass(100_000)
    expect(textsOf(await drain(queues, queue))).toEqual(['"after"'])
    const rows = await stage.store.rows()
    expect(rows.filter(({ pk }) => /^[tb]#/.test(`${pk}`))).toEqual([])
  })
})

describe('A process that joins what is due', () => {
  const scheduledRows = async (queues: Queues, queue: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      await push(queues, queue, [{ text: bulky(`n${n}`, 300), delaySeconds: 10 }])
    }
  }
  const namesOf = (items: readonly { text: string }[]) =>
    items.map(({ text }) => text.slice(1, text.indexOf(':')))

  it('may die after the write that joins: nothing comes twice.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await scheduledRows(queues, queue, 20)
    stage.clock.pass(11_000)
    await new Promise<void>((died) => {
      const dying = stage.engine({
        after({ name }) {
          if (name !== 'TransactWriteCommand') return undefined
          died()
          return new Promise(() => {})
        },
      })
      void dying.returnExpiredLocks()
    })
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 0, count: 20 })
    expect((await stage.store.rows()).filter(({ pk }) => `${pk}`.startsWith('t#'))).toEqual([])
    await scheduledRows(queues, queue, 20)
    stage.clock.pass(60_000)
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    expect(namesOf(await drain(stage.engine(), queue))).toEqual([...names, ...names])
  })

  it('and was frozen while another did, changes nothing.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await scheduledRows(queues, queue, 9)
    stage.clock.pass(11_000)
    const frozen = freezeAtTransaction()
    const late = stage.engine(frozen)
    const popping = late.pop(queue, { count: 100 })
    await frozen.reached
    expect(namesOf(await drain(queues, queue))).toHaveLength(9)
    frozen.thaw()
    expect((await popping).kind).toBe('empty')
  })

  it('by a clock that is ahead, takes nothing of what is pushed after that for an earlier time.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await scheduledRows(queues, queue, 9)
    const ahead = stage.engine({ clock: stage.clock.skewed(20_000) })
    expect(await drain(ahead, queue)).toHaveLength(9)
    for (let n = 0; n < 12; n += 1) {
      await push(queues, queue, [{ text: bulky(`m${n}`, 300), delaySeconds: 5 }])
    }
    expect(await kindOf(queues, queue)).toBe('empty')
    stage.clock.pass(6_000)
    expect(await drain(queues, queue)).toHaveLength(12)
  })

  it('and lost the answer, goes by the record.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await scheduledRows(queues, queue, 9)
    stage.clock.pass(11_000)
    let updates = 0
    const unlucky = stage.engine({
      after({ name }) {
        if (name === 'UpdateCommand' && ++updates === 1) throw timedOut()
      },
    })
    expect(namesOf((await popItems(unlucky, queue, { count: 100 })).items)).toHaveLength(9)
    expect(await kindOf(queues, queue)).toBe('empty')
  })
})

describe('A push for later whose answer is lost', () => {
  it('is found where it is.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, named('a', 1))
    const unlucky = stage.engine({
      after({ name }) {
        if (name === 'UpdateCommand') throw timedOut()
      },
    })
    const { ids } = await push(unlucky, queue, [inSeconds('b', 5)])
    expect(ids[0]).toMatch(/^t-/)
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 1 })
  })
})

describe('In other ways to push', () => {
  it('items for later linger with others.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine({ linger: { waitMs: 5 } }), stage.queue()]
    const pushes = Array.from({ length: 10 }, (_, n) =>
      push(queues, queue, [n % 2 === 0 ? inSeconds(`a${n}`, 5) : { text: `"a${n}"` }]),
    )
    const ids = (await Promise.all(pushes)).flatMap((pushed) => pushed.ids)
    expect(ids.filter((id) => id.startsWith('t-'))).toHaveLength(5)
    stage.clock.pass(10_000)
    expect(textsOf(await drain(queues, queue)).sort()).toEqual(
      Array.from({ length: 10 }, (_, n) => `"a${n}"`),
    )
  })

  it('they come with a transaction of the caller, or not at all.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const entry = await queues.pushTransactItem(queue, inSeconds('a', 5))
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 0 })
    const send = (TransactItems: never) =>
      stage.store.dynamodb.send(new TransactWriteCommand({ TransactItems }) as never)
    await send([entry] as never)
    await queues.transact(queue, [inSeconds('b', 6), inSeconds('c', 0)], (entries) =>
      send(entries as never),
    )
    expect(await queues.inspect(queue)).toMatchObject({ count: 1, scheduledCount: 2 })
    stage.clock.pass(10_000)
    await stage.engine().returnExpiredLocks()
    expect(textsOf(await drain(queues, queue))).toEqual(['"c"', '"a"', '"b"'])
  })
})

describe('The timer of a queue', () => {
  it('is not raised by a transaction past a lock that has expired: by a slower clock, too, its items come first.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, named('a', 2))
    await lockItems(queues, queue, { competing: true, ttlSeconds: 10 })
    // Nobody has ended it.
    stage.clock.pass(10_500)
    await queues.transact(queue, [inSeconds('b', 60)], (entries) =>
      stage.store.dynamodb.send(new TransactWriteCommand({ TransactItems: [...entries] }) as never),
    )
    const slower = stage.engine({ clock: stage.clock.skewed(-300) })
    const { items } = await popItems(slower, queue, { requireAck: true, competing: true })
    expect(textsOf(items)).toEqual(['"a0"'])
  })

  it('is not put off past what is scheduled while the sweeper decides.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, [inSeconds('a', 10), inSeconds('z', 3_600)])
    stage.clock.pass(10_000)
    await popItems(queues, queue)
    const frozen = freezeAtUpdate()
    const sweeping = stage.engine(frozen).returnExpiredLocks()
    await frozen.reached
    await push(queues, queue, [inSeconds('b', 60)])
    frozen.thaw()
    await sweeping
    expect((await stage.record(queue)).checkAtMs).toBeLessThanOrEqual(stage.clock.nowMs() + 60_000)
    stage.clock.pass(61_000)
    await stage.engine().returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: 1, scheduledCount: 1 })
  })

  it('is due while there is more to join than one query of rows brings.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    for (let n = 0; n < 150; n += 1) {
      await push(queues, queue, [{ text: bulky(`n${n}`, 280), delaySeconds: 10 + n }])
    }
    stage.clock.pass(200_000)
    await queues.returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: 150, scheduledCount: 0 })
  })
})

describe('Scheduled items, by their ids,', () => {
  const mixed = async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const { tableName, bucketName, dynamodb, s3 } = stage.store
    const ports = { dynamodb: dynamodb as never, s3: s3 as never }
    const engine = createEngine({ tableName, bucketName, ...ports, clock: stage.clock })
    const ids: string[] = []
    for (let n = 0; n < 22; n += 1) {
      const item = { text: bulky(`n${n}`, 250), delaySeconds: 10 + (n % 3) }
      ids.push(...(await push(queues, queue, [item])).ids)
    }
    const bulk = Array.from({ length: 20 }, (_, n) => inSeconds(`b${n}${'x'.repeat(90)}`, 10))
    ids.push(...(await push(queues, queue, bulk)).ids)
    return { stage, queues, queue, engine, ids }
  }

  it('can be cancelled, in the record, in rows and in batches, and are in no pop then.', async () => {
    const { stage, queues, queue, engine, ids } = await mixed()
    const some = ids.filter((_, n) => n % 3 === 0)
    expect([...(await cancelScheduled(engine, queue, some))]).toEqual(some)
    expect(await cancelScheduled(engine, queue, some)).toEqual(new Set())
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: ids.length - some.length })
    stage.clock.pass(20_000)
    const popped = await drain(queues, queue)
    const left = new Set(ids.filter((id) => !some.includes(id)))
    expect(new Set(popped.map(({ scheduledId }) => scheduledId))).toEqual(left)
    expect(await cancelScheduled(engine, queue, ids)).toEqual(new Set())
    await queues.housekeep(queue)
    expect((await stage.store.rows()).filter(({ pk }) => /^t#/.test(`${pk}`))).toEqual([])
  })

  it('can have another time and priority, and have other ids then.', async () => {
    const { stage, queues, queue, engine, ids } = await mixed()
    const some = ids.filter((_, n) => n % 3 === 0)
    const dueMs = stage.clock.nowMs() + 5_000
    const newIds = await rescheduled(engine, queue, some, { dueMs, priority: 7 })
    expect([...newIds.keys()]).toEqual(some)
    stage.clock.pass(5_000)
    const popped = await drain(queues, queue)
    expect(popped.map(({ scheduledId }) => scheduledId)).toEqual([...newIds.values()])
    expect(popped.every((item) => item.priority === 7 && item.dueMs === dueMs)).toBe(true)
    const back = await rescheduled(engine, queue, ids, { dueMs: 0 })
    expect(back.size).toBe(ids.length - some.length)
    stage.clock.pass(1_000)
    expect(await drain(queues, queue)).toHaveLength(back.size)
  })
})
