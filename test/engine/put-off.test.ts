import { describe, expect, it } from 'vitest'
import type { MoveRequest, PoppedItem, PushItem, Queues } from '../../engine/queues.ts'
import { type EngineOnWire, onSimulated, type Stage } from './stage.ts'
import {
  bulky,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

// A move of items that wait to a time ahead: they are scheduled then.

const FAR_MS = 100_000
const competing = { requireAck: true, competing: true, ttlSeconds: 60 } as const

/** The results in a row, and the new ids of those that were moved. */
async function moved(queues: Queues, queue: string, request: MoveRequest) {
  const results = await queues.move(queue, request)
  expect(results.map(({ id }) => id)).toEqual(request.ids)
  return {
    results: results.map(({ result }) => result).join(' '),
    newIds: results.flatMap((it) => (it.result === 'moved' && it.newId ? [it.newId] : [])),
  }
}

async function holding(items: readonly PushItem[]) {
  const { stage, queues, queue } = onSimulated()
  const ids = await pushOneByOne(queues, queue, items)
  const at = (n: number) => ids[n] as string
  return { stage, queues, queue, ids, at, deliverAtMs: stage.clock.nowMs() + FAR_MS }
}

/** Cut to the name of the item: `a7`. */
const nameOf = (text: string): string => text.slice(1).split(/[:"]/)[0] as string
const namesOf = (items: readonly { readonly text: string }[]): string =>
  items.map(({ text }) => nameOf(text)).join(' ')

const bulk = (count: number, bytes: number): PushItem[] =>
  Array.from({ length: count }, (_, n) => ({ text: bulky(`a${n}`, bytes), priority: n % 2 }))

/** Twelve items of two priorities, wherever items can lie: `[what, how they come there]`. */
const places: readonly [string, (queues: EngineOnWire, queue: string) => Promise<string[]>][] = [
  ['in the record', (queues, queue) => pushOneByOne(queues, queue, bulk(12, 60))],
  [
    'in rows',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 400))
      await tidy(queues, queue)
      return ids
    },
  ],
  [
    'in a batch of rows',
    async (queues, queue) => [...(await push(queues, queue, bulk(12, 300))).ids],
  ],
  [
    'in a batch in S3',
    async (queues, queue) => [...(await push(queues, queue, bulk(12, 4_000))).ids],
  ],
  [
    'in segments in S3',
    async (queues, queue) => {
      await queues.configure(queue, { segmentSize: 2 })
      const ids = await pushOneByOne(queues, queue, bulk(12, 400))
      await tidy(queues, queue)
      return ids
    },
  ],
  [
    'waiting for their retry',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 60))
      for (let n = 0; n < 3; n += 1) {
        const { lock } = await lockItems(queues, queue, { ...competing, count: 4 })
        await queues.release(queue, { lockId: lock.id, delaySeconds: 500, overtake: true })
      }
      return ids
    },
  ],
  [
    'of a lock whose time is over',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 60))
      await lockItems(queues, queue, { ...competing, count: 12, ttlSeconds: 1 })
      return ids
    },
  ],
]

/** Pushed in this order: 0 … 11, the even ones to priority 0. */
const CHOSEN = [7, 2, 3, 10, 0]
const IN_ORDER = 'a0 a2 a10 a3 a7'

async function expectPutOff(
  stage: Stage,
  queues: EngineOnWire,
  queue: string,
  ids: readonly string[],
  target: { readonly to: string; readonly priority: number | undefined },
): Promise<void> {
  const { to, priority } = target
  const pushedAtMs = stage.clock.nowMs() - 2_000
  const deliverAtMs = stage.clock.nowMs() + FAR_MS
  const request = { ids: CHOSEN.map((n) => ids[n] as string), deliverAtMs, priority }
  const other = to === queue ? {} : { queue: to }
  const { results, newIds } = await moved(queues, queue, { ...request, ...other })
  expect(results).toBe('moved moved moved moved moved')
  expect(newIds.every((id) => id.startsWith('t-'))).toBe(true)
  expect((await moved(queues, queue, { ...request, ...other })).results).toBe(
    'gone gone gone gone gone',
  )
  expect(await queues.inspect(to)).toMatchObject({ scheduledCount: 5 })
  expect((await queues.inspect(queue)).count).toBe(7)
  const { items } = await queues.scheduled(to)
  expect(namesOf(items)).toBe(IN_ORDER)
  expect(items.map(({ id }) => id)).toEqual([4, 1, 3, 2, 0].map((n) => newIds[n]))
  stage.clock.pass(FAR_MS - 1_000)
  expect(namesOf(await popped(queues, to)).split(' ')).not.toContain('a0')
  stage.clock.pass(1_000)
  const joined = await popped(queues, to)
  expect(namesOf(joined)).toBe(IN_ORDER)
  for (const [n, item] of joined.entries()) {
    expect(item).toMatchObject({
      priority: priority ?? (n < 3 ? 0 : 1),
      dueMs: 1_000 * Math.ceil(deliverAtMs / 1_000),
      scheduledId: items[n]?.id,
      deliveries: 1,
    })
    expect(item.pushedAtMs).toBe(pushedAtMs)
  }
}

const popped = async (queues: Queues, queue: string): Promise<PoppedItem[]> => {
  const outcome = await queues.pop(queue, { count: 100 })
  return outcome.kind === 'items' ? [...outcome.items] : []
}

describe('A move of waiting items to a time ahead', () => {
  const rows = places.flatMap(([what, fill]) =>
    (['the same', 'another'] as const).flatMap((where) =>
      [undefined, 3].map((priority) => [what, where, priority, fill] as const),
    ),
  )

  it.each(rows)(
    'takes items %s to a time in %s queue, at priority %s: no pop has them until then.',
    async (_, where, priority, fill) => {
      const { stage, queues, queue } = onSimulated()
      const to = where === 'the same' ? queue : stage.queue()
      const ids = await fill(queues, queue)
      stage.clock.pass(2_000)
      await expectPutOff(stage, queues, queue, ids, { to, priority })
      stage.clock.pass(1_000_000)
      if (to !== queue) await drain(queues, queue)
      await drain(queues, to)
      for (const one of new Set([queue, to])) {
        expect(await queues.inspect(one)).toMatchObject({ count: 0, scheduledCount: 0 })
      }
    },
  )

  it('takes scheduled ones beside them, which come behind them, and answers each id for itself.', async () => {
    const { stage, queues, queue, at, deliverAtMs } = await holding(named('a', 5))
    const later = { text: '"s"', delaySeconds: 50 }
    const [scheduled = ''] = (await push(queues, queue, [later])).ids
    await lockItems(queues, queue, { ...competing, count: 1 })
    await queues.pop(queue, { count: 1, competing: true })
    const ids = [scheduled, at(4), at(0), at(1), at(3), 't-zzzz-0-AAAAAAAA', at(4)]
    const { results } = await moved(queues, queue, { ids, deliverAtMs, priority: 2 })
    expect(results).toBe('moved moved locked gone moved gone moved')
    stage.clock.pass(FAR_MS + 1_000)
    expect(namesOf(await drain(queues, queue))).toBe('a0 a2 a3 a4 s')
  })

  it.each([
    ['a second ago', -1_000],
    ['now', 0],
  ])('leaves them where they are if that time is %s, and scheduled ones join.', async (_, ms) => {
    const { stage, queues, queue, ids, at } = await holding(named('a', 3))
    const later = { text: '"s"', delaySeconds: 50 }
    const [scheduled = ''] = (await push(queues, queue, [later])).ids
    const deliverAtMs = stage.clock.nowMs() + ms
    const request = { ids: [at(1), scheduled], deliverAtMs }
    const { results, newIds } = await moved(queues, queue, request)
    expect([results, newIds[0]]).toEqual(['moved moved', at(1)])
    expect((await queues.browse(queue)).items.map(({ id }) => id)).toEqual(ids)
    stage.clock.pass(1_000)
    expect(namesOf(await drain(queues, queue))).toBe('a0 a1 a2 s')
  })

  it('puts them where they would go without a time if that time is not ahead.', async () => {
    const { stage, queues, queue, at } = await holding(named('a', 3))
    const deliverAtMs = stage.clock.nowMs()
    const within = await moved(queues, queue, { ids: [at(0)], deliverAtMs, priority: 4 })
    const across = await moved(queues, queue, { ids: [at(1)], deliverAtMs, queue: 'others' })
    const [item] = (await queues.browse('others')).items
    expect(across.newIds).toEqual([item?.id])
    expect(within.newIds).toEqual([(await queues.browse(queue)).items[1]?.id])
    expect(namesOf(await drain(queues, queue))).toBe('a2 a0')
    expect(namesOf(await drain(queues, 'others'))).toBe('a1')
  })

  it('ends their wait for a retry if that time is not ahead.', async () => {
    const { stage, queues, queue, at } = await holding(named('a', 3))
    const { lock } = await lockItems(queues, queue, { count: 2 })
    await queues.release(queue, { lockId: lock.id, delaySeconds: 500, overtake: true })
    const request = { ids: [at(0)], deliverAtMs: stage.clock.nowMs() }
    const { newIds } = await moved(queues, queue, request)
    const items = await drain(queues, queue)
    expect(namesOf(items)).toBe('a2 a0')
    expect(items[1]).toMatchObject({ id: newIds[0], deliveries: 1 })
    stage.clock.pass(500_000)
    expect(namesOf(await drain(queues, queue))).toBe('a1')
  })

  it('is one read of the record and one transaction, and a look at what is left.', async () => {
    const { stage, queue, at, deliverAtMs } = await holding(named('a', 6))
    const other = stage.engine()
    const move = () => other.move(queue, { ids: [at(4), at(0)], deliverAtMs })
    const requests = ['GetCommand', 'TransactWriteCommand', 'GetCommand']
    expect(await other.wire.during(move)).toEqual(requests)
  })

  it('of the last one leaves the queue dry, and is an event once it is due.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(named('a', 1))
    await moved(queues, queue, { ids, deliverAtMs })
    const dueMs = 1_000 * Math.ceil(deliverAtMs / 1_000)
    expect(await stage.record(queue)).toMatchObject({ dry: true, checkAtMs: dueMs, timed: true })
    stage.announced.length = 0
    stage.clock.pass(FAR_MS + 1_000)
    await queues.returnExpiredLocks()
    expect(stage.announced).toContain(`${queue}: items-available`)
    expect(namesOf(await drain(queues, queue))).toBe('a0')
  })

  it('has the sweeper come sooner if that time is sooner than what it waits for.', async () => {
    const { stage, queues, queue, at, deliverAtMs } = await holding(named('a', 4))
    await lockItems(queues, queue, { ...competing, count: 1, ttlSeconds: 50 })
    const soon = (await stage.record(queue)).checkAtMs as number
    await moved(queues, queue, { ids: [at(2)], deliverAtMs })
    expect((await stage.record(queue)).checkAtMs).toBe(soon)
    await moved(queues, queue, { ids: [at(3)], deliverAtMs: stage.clock.nowMs() + 5_000 })
    expect((await stage.record(queue)).checkAtMs).toBeLessThanOrEqual(stage.clock.nowMs() + 6_000)
  })

  it('keeps their expiry: one that is over by then is never handed out.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding([
      { text: '"a0"', expiresInSeconds: 50 },
      { text: '"a1"', expiresInSeconds: 500 },
    ])
    await moved(queues, queue, { ids, deliverAtMs })
    stage.clock.pass(FAR_MS + 1_000)
    const items = await drain(queues, queue)
    expect(namesOf(items)).toBe('a1')
    expect(items[0]?.expiresAtMs).toBe((items[0]?.pushedAtMs ?? 0) + 500_000)
    expect(stage.expired).toBe(1)
  })

  it('moves large ones in as many writes as it takes, in order, and leaves nothing behind.', async () => {
    const items = Array.from({ length: 24 }, (_, n) => ({ text: bulky(`a${n}`, 200_000) }))
    for (const to of [undefined, 'others']) {
      const { stage, queues, queue, ids, deliverAtMs } = await holding(items)
      const { results } = await moved(queues, queue, { ids, deliverAtMs, queue: to })
      expect(new Set(results.split(' '))).toEqual(new Set(['moved']))
      const there = to ?? queue
      expect(await queues.inspect(there)).toMatchObject({ count: 0, scheduledCount: 24 })
      stage.clock.pass(FAR_MS + 1_000)
      expect(namesOf(await drain(queues, there))).toBe(namesOf(items))
      for (const one of new Set([queue, there])) await tidy(queues, one)
      expect((await stage.store.rows()).filter(({ pk }) => /^b#/.test(`${pk}`))).toEqual([])
      expect(await stage.store.objects()).toEqual([])
    }
  })

  it.each([undefined, 'others'])(
    'takes items of a hundred priorities and as many retries, forty a write (to %s).',
    async (to) => {
      const { stage, queues, queue, ids, deliverAtMs } = await holding(
        Array.from({ length: 100 }, (_, n) => ({ text: `"a${n}"`, priority: n })),
      )
      for (let n = 0; n < 100; n += 1) {
        const { lock } = await lockItems(queues, queue, { ttlSeconds: 300 })
        const delaySeconds = 60 + 100 * n
        await queues.release(queue, { lockId: lock.id, delaySeconds, overtake: true })
      }
      const { results } = await moved(queues, queue, { ids, deliverAtMs, queue: to })
      expect(new Set(results.split(' '))).toEqual(new Set(['moved']))
      expect((await queues.inspect(queue)).count).toBe(0)
      stage.clock.pass(FAR_MS + 1_000)
      expect(await drain(queues, to ?? queue)).toHaveLength(100)
    },
  )

  it('needs room in the other queue only once they are due.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(named('a', 3))
    await queues.configure('small', { capacity: 2 })
    await push(queues, 'small', named('b', 2))
    await moved(queues, queue, { ids, deliverAtMs, queue: 'small' })
    expect(await queues.inspect(queue)).toMatchObject({ count: 0 })
    expect(await queues.inspect('small')).toMatchObject({ count: 2, scheduledCount: 3 })
    stage.clock.pass(FAR_MS + 1_000)
    expect(namesOf((await popItems(queues, 'small', { count: 2 })).items)).toBe('b0 b1')
    expect(namesOf(await drain(queues, 'small'))).toBe('a0 a1 a2')
  })

  it('gives dead letters back without their reason, and those that it moves there have one.', async () => {
    const { stage, queues, queue, at, deliverAtMs } = await holding(named('a', 3))
    await queues.configure(queue, { itemTtlSeconds: 200 })
    const dead = `${queue}-deadletter`
    const { lock } = await lockItems(queues, queue, { count: 1 })
    await queues.deadLetter(queue, { lockId: lock.id, reason: 'broken' })
    await tidy(queues, queue)
    const [letter] = (await queues.browse(dead)).items
    stage.clock.pass(150_000)
    const back = { ids: [letter?.id ?? ''], deliverAtMs: deliverAtMs + 300_000, queue }
    expect((await moved(queues, dead, back)).results).toBe('moved')
    const there = { ids: [at(2)], deliverAtMs: stage.clock.nowMs() + 10_000, queue: dead }
    expect((await moved(queues, queue, there)).results).toBe('moved')
    stage.clock.pass(300_000)
    expect(await drain(queues, dead)).toMatchObject([{ text: '"a2"', reason: 'moved' }])
    const [item] = await drain(queues, queue)
    expect(item?.text).toBe('"a0"')
    expect(item?.reason).toBeUndefined()
  })

  it('never leaves a scheduled item where a cancel no longer looks.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(named('a', 40))
    const later = { text: '"s"', delaySeconds: 90 }
    const { ids: scheduled } = await push(queues, queue, [later])
    for (const id of ids) await moved(queues, queue, { ids: [id], deliverAtMs })
    expect((await stage.record(queue)).scheduled.entries).toEqual([])
    const sealing = Array.from({ length: 6 }, () => ({ text: bulky('z', 450), delaySeconds: 95 }))
    await pushOneByOne(queues, queue, sealing)
    const { entries } = (await stage.record(queue)).scheduled
    expect(entries.length).toBeLessThan(6)
    expect(entries.some((entry) => entry.includes('"s"'))).toBe(false)
    const [cancelled] = await queues.cancel(queue, scheduled)
    expect(cancelled?.result).toBe('cancelled')
    expect((await queues.inspect(queue)).scheduledCount).toBe(46)
    stage.clock.pass(FAR_MS + 1_000)
    expect(namesOf(await drain(queues, queue))).toBe(namesOf([...sealing, ...named('a', 40)]))
  })

  it('answers new ids by which the items can be cancelled and moved again.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(named('a', 3))
    const { newIds } = await moved(queues, queue, { ids, deliverAtMs })
    await queues.cancel(queue, newIds.slice(1, 2))
    const again = { ids: newIds, deliverAtMs: stage.clock.nowMs(), priority: 1 }
    expect((await moved(queues, queue, again)).results).toBe('moved gone moved')
    stage.clock.pass(1_000)
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"', '"a2"'])
  })
})
