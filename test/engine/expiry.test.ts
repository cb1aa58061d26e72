import { describe, expect, it } from 'vitest'
import { decodeItem } from '../../engine/core/item.ts'
import type { PopRequest, PushItem, Queues } from '../../engine/queues.ts'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { onSimulated } from './stage.ts'
import {
  bulky,
  drain,
  expectCode,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'
import { throttled } from './wire.ts'

const short = (items: readonly PushItem[], expiresInSeconds = 10): PushItem[] =>
  items.map((item) => ({ ...item, expiresInSeconds }))

const competing = { requireAck: true, competing: true }
/** Each way in which an item can be handed out. */
const ways: readonly (readonly [string, PopRequest])[] = [
  ['a pop', {}],
  ['a pop of many', { count: 10 }],
  ['a pop that locks', { requireAck: true, count: 3 }],
  ['a pop with a key', { requireAck: true, idempotencyKey: 'k' }],
  ['a pop that competes without a lock', { competing: true, count: 2 }],
  ['a claim', { ...competing, count: 3 }],
  ['a claim of one', competing],
  ['a claim that reads first', { ...competing, count: 20 }],
]

/** A timer that is ahead, and not too far, so that what competes claims. */
const beginClaims = async (queues: Parameters<typeof push>[0], queue: string) => {
  await push(queues, queue, named('first', 1))
  await lockItems(queues, queue, { ...competing, ttlSeconds: 20 })
}

describe('An item is not handed out after its expiry', () => {
  for (const [way, request] of ways) {
    it(`by ${way}: it gets what lies behind, and the next call gets the rest.`, async () => {
      const { stage, queues, queue } = onSimulated()
      if (request.competing) await beginClaims(queues, queue)
      await push(queues, queue, short(named('old', 5)))
      await push(queues, queue, named('new', 2))
      await push(queues, queue, short(named('older', 3), 5))
      await push(queues, queue, named('newest', 1))
      stage.clock.pass(10_000)
      const seen: string[] = []
      for (let pops = 0; pops < 10 && seen.length < 3; pops += 1) {
        const popped = await popItems(queues, queue, request)
        seen.push(...textsOf(popped.items))
        if (popped.lock) await queues.acknowledge(queue, { lockId: popped.lock.id })
      }
      expect(seen).toEqual(['"new0"', '"new1"', '"newest0"'])
      expect(await queues.pop(queue, request)).toEqual({ kind: 'empty' })
      expect(stage.expired).toBe(8)
    })

    it(`by ${way}, where nothing else is left: it is empty.`, async () => {
      const { stage, queues, queue } = onSimulated()
      if (request.competing) await beginClaims(queues, queue)
      await push(queues, queue, short(named('old', 12)))
      stage.clock.pass(10_000)
      expect(await queues.pop(queue, request)).toEqual({ kind: 'empty' })
      expect(await stage.engine().inspect(queue)).toMatchObject({
        count: request.competing ? 1 : 0,
      })
      expect(stage.expired).toBe(12)
    })
  }

  it('and one millisecond before it is.', async () => {
    const { stage, queues, queue } = onSimulated()
    const expiresAtMs = stage.clock.nowMs() + 10_000
    await push(queues, queue, [{ text: '1', expiresAtMs }])
    stage.clock.pass(9_999)
    expect((await popItems(queues, queue)).items[0]).toMatchObject({ text: '1', expiresAtMs })
  })

  it('by the clock of the process that pops.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, short(named('a', 1)))
    const ahead = stage.engine({ clock: stage.clock.skewed(10_000) })
    expect(await ahead.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('out of a large push by reference, and from S3.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { segmentSize: 10, bufferSegments: 1 })
    await push(queues, queue, short(named('a', 300)))
    await pushOneByOne(queues, queue, short(named('b', 150)))
    const large = Array.from({ length: 20 }, (_, n) => ({ text: bulky(`n${n}`, 2_000) }))
    await push(queues, queue, [...short(large), { text: '"last"' }])
    await tidy(queues, queue)
    stage.clock.pass(10_000)
    expect(textsOf((await popItems(stage.engine(), queue)).items)).toEqual(['"last"'])
    expect(stage.expired).toBe(470)
  })

  it('from other priorities than the one that has something.', async () => {
    const { stage, queues, queue } = onSimulated()
    for (let priority = 0; priority < 70; priority += 1) {
      await push(queues, queue, short(named(`p${priority}`, 2, priority)))
    }
    await push(queues, queue, named('last', 3, 99))
    stage.clock.pass(10_000)
    const { items } = await popItems(queues, queue, { count: 2 })
    expect(textsOf(items)).toEqual(['"last0"', '"last1"'])
    expect(stage.expired).toBe(140)
  })

  it('again, if its lock ends later than that; until then the lock can be acknowledged.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, short(named('a', 2)))
    const first = await lockItems(queues, queue, { ttlSeconds: 30 })
    stage.clock.pass(20_000)
    await queues.acknowledge(queue, { lockId: first.lock.id })
    await push(queues, queue, short(named('b', 1)))
    await lockItems(queues, queue, { ttlSeconds: 30 })
    stage.clock.pass(40_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    expect(stage.expired).toBe(2)
  })

  it('though the pop with its key gets it again while the lock lives.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, short(named('a', 1)))
    const request = { idempotencyKey: 'k', ttlSeconds: 60 }
    const first = await lockItems(queues, queue, request)
    stage.clock.pass(20_000)
    expect(await lockItems(queues, queue, request)).toMatchObject({ lock: { id: first.lock.id } })
  })
})

describe('A pop that acknowledges', () => {
  for (const [way, request] of ways.filter(([, { requireAck }]) => requireAck)) {
    it(`does so though all that ${way} meets has expired.`, async () => {
      const { stage, queues, queue } = onSimulated()
      await push(queues, queue, named('a', 1))
      const held = await lockItems(queues, queue, { ...request, count: 1, ttlSeconds: 20 })
      await push(queues, queue, short(named('old', 30)))
      stage.clock.pass(10_000)
      const next = request.idempotencyKey && { idempotencyKey: 'next' }
      expect(await queues.pop(queue, { ...request, ...next, acknowledge: held.lock.id })).toEqual({
        kind: 'empty',
        itemsAcknowledged: 1,
      })
      expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ count: 0 })
    })
  }
})

describe('A pop that fails on its way through expired items', () => {
  /** So many updates pass, and then none does. */
  const failing = async (request: PopRequest, passing: number) => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, named('a', 1))
    const held = await lockItems(queues, queue, { ...request, ttlSeconds: 20 })
    await push(queues, queue, short(named('old', 700)))
    stage.clock.pass(10_000)
    let updates = 0
    const process = stage.engine({
      before({ name }) {
        if (name === 'UpdateCommand') updates += 1
        if (updates > passing && name === 'UpdateCommand') throw throttled()
      },
    })
    const call = process.pop(queue, { ...request, acknowledge: held.lock.id })
    return { stage, queue, held, call }
  }

  it('acknowledges nothing, and says so.', async () => {
    const { stage, queue, held, call } = await failing({ requireAck: true }, 1)
    await expect(call).rejects.not.toHaveProperty('outcome', 'unknown')
    const { locks } = await stage.record(queue)
    expect(locks.get(held.lock.id)?.expiresAtMs).toBe(held.lock.expiresAtMs)
  })

  it('acknowledges by its claim, and says that this is unknown.', async () => {
    const { call } = await failing(competing, 2)
    await expect(call).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('A long stretch of expired items', () => {
  it('is passed over 500 items a write, in one call if it is of some thousands.', async () => {
    const { stage, queues, queue } = onSimulated()
    for (let n = 0; n < 5; n += 1) await push(queues, queue, short(named('old', 1_000)))
    await push(queues, queue, named('new', 1))
    await tidy(queues, queue)
    stage.clock.pass(10_000)
    const sent = await queues.wire.during(async () => {
      expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
    })
    const writes = sent.filter((name) => name === 'UpdateCommand')
    expect(writes.length).toBeLessThanOrEqual(11)
    expect(stage.expired).toBe(5_000)
  })

  it('makes no call endless: one says that there is more, and the next goes on behind it.', async () => {
    const { stage, queues, queue } = onSimulated()
    for (let n = 0; n < 12; n += 1) await push(queues, queue, short(named('old', 1_000)))
    await push(queues, queue, named('new', 1))
    stage.clock.pass(10_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty', more: true })
    expect(stage.expired).toBeGreaterThan(8_000)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
    expect(stage.expired).toBe(12_000)
  })

  it('is passed over bit by bit where reading is slow, so that a consumer who is stopped again and again gets on.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { segmentSize: 1 })
    for (let n = 0; n < 60; n += 1) await push(queues, queue, short(named('old', 10)))
    await push(queues, queue, named('new', 1))
    stage.clock.pass(10_000)
    for (let run = 1; run <= 10; run += 1) {
      const endMs = stage.clock.nowMs() + 30_000
      const slow = stage.engine({
        before() {
          stage.clock.pass(100)
          if (stage.clock.nowMs() > endMs) throw new Error('The function timed out')
        },
      })
      const popped = await slow.pop(queue).catch(() => {})
      if (popped === undefined) continue
      expect(popped).toMatchObject({ kind: 'items', items: [{ text: '"new0"' }] })
      return
    }
    throw new Error('No run got through')
  })

  it('of large items is read no further than some megabytes a write.', async () => {
    const { stage, queues, queue } = onSimulated()
    const large = Array.from({ length: 10 }, (_, n) => ({ text: bulky(`n${n}`, 250_000) }))
    for (let n = 0; n < 12; n += 1) await push(queues, queue, short(large))
    await push(queues, queue, named('new', 1))
    stage.clock.pass(10_000)
    expect(textsOf((await popItems(queues, queue, { count: 3 })).items)).toEqual(['"new0"'])
    expect(stage.expired).toBe(120)
  })
})

describe('If so configured, expired items go to the dead letters', () => {
  const setUp = async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { expired: 'dead_letter' })
    return { stage, queues, queue, dead: deadLetterQueueOf(queue) }
  }

  for (const [way, request] of ways) {
    it(`with the reason “expired” and no delivery, by ${way}.`, async () => {
      const { stage, queues, queue, dead } = await setUp()
      if (request.competing) await beginClaims(queues, queue)
      await push(queues, queue, [...short(named('old', 3)), ...named('new', 1)])
      stage.clock.pass(10_000)
      expect(textsOf((await popItems(queues, queue, request)).items)).toEqual(['"new0"'])
      expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ deadCount: 3 })
      await tidy(queues, queue)
      const { items } = await queues.browse(dead)
      expect(items).toMatchObject(
        named('old', 3).map(({ text }) => ({ text, reason: 'expired', priorDeliveries: 0 })),
      )
      expect(items[0]).not.toHaveProperty('expiresAtMs')
      expect(stage.expired).toBe(3)
    })
  }

  it('and comes back from there without an expiry.', async () => {
    const { stage, queues, queue, dead } = await setUp()
    await push(queues, queue, short(named('a', 1)))
    stage.clock.pass(10_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    await tidy(queues, queue)
    expect(await queues.redrive(dead)).toMatchObject({ itemsRedriven: 1 })
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a0"'])
  })

  it('and comes back as if pushed then, where all items expire.', async () => {
    const { stage, queues, queue, dead } = await setUp()
    await queues.configure(queue, { itemTtlSeconds: 60 })
    await push(queues, queue, named('a', 2))
    stage.clock.pass(60_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    await tidy(queues, queue)
    stage.clock.pass(60_000)
    expect(await queues.redrive(dead)).toMatchObject({ itemsRedriven: 2 })
    stage.clock.pass(59_999)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a0"'])
    stage.clock.pass(1)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('as far as the record has room for the dead; the rest when these have moved.', async () => {
    const { stage, queues, queue } = await setUp()
    await push(queues, queue, short(named('old', 1_000)))
    await push(queues, queue, short(named('older', 300)))
    await push(queues, queue, named('new', 1))
    stage.clock.pass(10_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty', more: true })
    await expectCode(queues.pop(queue), 'TOO_MANY_LOCKS')
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ deadCount: 1_000 })
    stage.announced.length = 0
    await tidy(queues, queue)
    // Consumers have gone home, and the queue was not dry: nothing else would bring one.
    expect(stage.announced.filter((line) => line.startsWith(`${queue}:`))).toEqual([
      `${queue}: items-available`,
    ])
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
  })

  /** So many items in locks, and then an old one before each new one. */
  const locked = async (count: number) => {
    const { stage, queues, queue } = await setUp()
    await push(queues, queue, named('a', 1_000))
    await push(queues, queue, named('b', count - 1_000))
    const mixed = named('new', 10).flatMap((item) => [...short([{ text: '"old"' }]), item])
    await push(queues, queue, mixed)
    for (let left = count; left > 0; left -= 100) {
      await lockItems(queues, queue, {
        competing: true,
        count: Math.min(100, left),
        ttlSeconds: 300,
      })
    }
    stage.clock.pass(10_000)
    return { stage, queues: stage.engine(), queue }
  }

  for (const [way, request] of [
    ['a pop that competes for a lock', competing],
    ['a pop that competes without one', { competing: true }],
    ['a large claim', { ...competing, count: 10 }],
  ] satisfies readonly (readonly [string, PopRequest])[]) {
    it(`beside 1,500 items in locks, by ${way}.`, async () => {
      const { queues, queue } = await locked(1_500)
      expect(textsOf((await popItems(queues, queue, request)).items)[0]).toBe('"new0"')
    })
  }

  it('and with what the same pop locks they are no more than may be in flight.', async () => {
    const { stage, queues, queue } = await locked(1_993)
    const { items, more } = await popItems(queues, queue, { ...competing, count: 10 })
    // An old one and a new one, three times; the seventh is old.
    expect([textsOf(items), more]).toEqual([['"new0"', '"new1"', '"new2"'], true])
    expect(await stage.record(queue)).toMatchObject({ inFlight: 2_000 })
    await expectCode(queues.pop(queue, competing), 'TOO_MANY_LOCKS')
  })

  it('but never out of a dead-letter queue, which has none.', async () => {
    const { stage, queues, dead } = await setUp()
    await expect(queues.configure(dead, { expired: 'dead_letter' })).rejects.toMatchObject({
      field: 'expired',
    })
    await queues.configure(dead, { itemTtlSeconds: 60 })
    await push(queues, dead, named('a', 1))
    stage.clock.pass(60_000)
    expect(await queues.pop(dead)).toEqual({ kind: 'empty' })
    expect(await queues.inspect(dead, { consistent: true })).toMatchObject({ count: 0 })
  })
})

describe('An item that comes back from the dead letters', () => {
  type Back = (queues: Queues, dead: string, ids: string[], queue: string) => Promise<unknown>
  const waysBack: readonly (readonly [string, Back])[] = [
    ['a redrive', (queues, dead) => queues.redrive(dead)],
    ['a redrive by id', (queues, dead, ids) => queues.redrive(dead, { ids })],
    ['a move by id', (queues, dead, ids, queue) => queues.move(dead, { ids, queue })],
  ]

  /** A dead letter that was pushed an hour ago. */
  const deadFor = async (back: Back) => {
    const { stage, queues, queue } = onSimulated()
    const dead = deadLetterQueueOf(queue)
    await push(queues, queue, named('a', 1))
    const { lock } = await lockItems(queues, queue)
    await queues.deadLetter(queue, { lockId: lock.id })
    stage.clock.pass(3_600_000)
    const ids = (await queues.browse(dead)).items.map(({ id }) => id)
    return { stage, queues, queue, back: () => back(queues, dead, ids, queue) }
  }

  for (const [way, how] of waysBack) {
    it(`by ${way} is not over by a setting that the process has not seen.`, async () => {
      const { stage, queues, queue, back } = await deadFor(how)
      await push(queues, queue, named('b', 1))
      await stage.engine().configure(queue, { itemTtlSeconds: 60 })
      await back()
      expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"b0"', '"a0"'])
    })

    it(`by ${way} is as new in a queue that was forgotten and expires by its prefix.`, async () => {
      const { stage, queues, queue, back } = await deadFor(how)
      await queues.returnExpiredLocks()
      expect(await stage.stored(queue)).toBeUndefined()
      await queues.configurePatterns([{ prefix: queue, settings: { itemTtlSeconds: 60 } }])
      await back()
      expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a0"'])
    })

    it(`by ${way} tells of no time at which it was due.`, async () => {
      const { stage, queues, queue, back } = await deadFor(how)
      await queues.configure(queue, { itemTtlSeconds: 60 })
      await back()
      const [entry = ''] = (await stage.record(queue)).lanes.get(0)?.tail ?? []
      expect(decodeItem(entry)).toMatchObject({ redrivenMs: stage.clock.nowMs() })
      expect(decodeItem(entry)).not.toHaveProperty('dueMs')
    })

    it(`by ${way} leaves no mark if nothing expires.`, async () => {
      const { stage, queue, back } = await deadFor(how)
      await back()
      expect(await stage.stored(queue)).not.toHaveProperty('tm')
    })
  }
})

describe('An item that is moved by its id', () => {
  it('keeps its expiry.', async () => {
    const { stage, queues, queue } = onSimulated()
    const other = stage.queue()
    const { ids } = await push(queues, queue, short(named('a', 2)))
    await queues.move(queue, { ids: ids.slice(0, 1), queue: other })
    await queues.move(queue, { ids: ids.slice(1), priority: 3 })
    expect(await stage.stored(other)).toMatchObject({ tm: 'y' })
    stage.clock.pass(10_000)
    expect(await queues.pop(other)).toEqual({ kind: 'empty' })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('has none among the dead letters, nor when it comes back.', async () => {
    const { stage, queues, queue } = onSimulated()
    const dead = deadLetterQueueOf(queue)
    const { ids } = await push(queues, queue, short(named('a', 1)))
    await queues.move(queue, { ids, queue: dead })
    stage.clock.pass(10_000)
    expect((await queues.browse(dead)).items).toMatchObject([{ state: 'ready', reason: 'moved' }])
    await queues.redrive(dead)
    expect(textsOf(await drain(queues, queue))).toEqual(['"a0"'])
  })
})

describe('A queue whose items expire', () => {
  it('applies what it is set to to all of them at once, also to those pushed before.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, named('a', 3))
    stage.clock.pass(30_000)
    await queues.configure(queue, { itemTtlSeconds: 40 })
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a0"'])
    stage.clock.pass(10_000)
    await queues.configure(queue, { itemTtlSeconds: null })
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a1"'])
    await queues.configure(queue, { itemTtlSeconds: 40 })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('goes by an item’s own expiry if that is earlier.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { itemTtlSeconds: 40 })
    await push(queues, queue, [...short(named('a', 1), 10), ...short(named('b', 1), 100)])
    stage.clock.pass(10_000)
    expect((await queues.browse(queue)).items).toMatchObject([
      { state: 'expired', expiresAtMs: stage.clock.nowMs() },
      { state: 'ready', expiresAtMs: stage.clock.nowMs() + 30_000 },
    ])
    stage.clock.pass(30_000)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('has that of its prefix, too, from its first record on.', async () => {
    const { stage, queues } = onSimulated()
    await queues.configurePatterns([{ prefix: 'short.', settings: { itemTtlSeconds: 10 } }])
    await push(queues, 'short.a', named('a', 1))
    stage.clock.pass(10_000)
    expect(await stage.engine().pop('short.a')).toEqual({ kind: 'empty' })
  })

  it('marks its record, so that pops look whether items have expired.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, named('a', 1))
    expect(await stage.stored(queue)).not.toHaveProperty('tm')
    await queues.configure(queue, { itemTtlSeconds: 10 })
    expect(await stage.stored(queue)).toMatchObject({ tm: 'y' })
  })

  it('tells a claim so that went by older settings.', async () => {
    const { stage, queues, queue } = onSimulated()
    await beginClaims(queues, queue)
    await push(queues, queue, named('a', 3))
    stage.clock.pass(10_000)
    await stage.engine().configure(queue, { itemTtlSeconds: 10 })
    expect(await queues.pop(queue, competing)).toEqual({ kind: 'empty' })
  })
})

describe('A full queue', () => {
  it('takes a push where what has expired is at the front.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { capacity: 150 })
    await push(queues, queue, short(named('old', 150)))
    await expectCode(push(queues, queue, named('new', 1)), 'QUEUE_FULL')
    stage.clock.pass(10_000)
    await push(queues, queue, named('new', 150))
    expect(stage.expired).toBe(150)
    await expectCode(push(queues, queue, named('new', 1)), 'QUEUE_FULL')
    expect((await popItems(queues, queue, { count: 100 })).items).toHaveLength(100)
  })

  it('takes one in a transaction of the caller likewise.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { capacity: 2 })
    await push(queues, queue, short(named('old', 2)))
    stage.clock.pass(10_000)
    expect(await queues.pushTransactItem(queue, { text: '1' })).toHaveProperty('Update')
  })

  it('takes items that move there from another queue likewise.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { capacity: 2 })
    await push(queues, queue, short(named('old', 2)))
    const { ids } = await push(queues, 'other', named('new', 2))
    stage.clock.pass(10_000)
    const moved = await queues.move('other', { ids, queue })
    expect(moved.map(({ result }) => result)).toEqual(['moved', 'moved'])
    expect(stage.expired).toBe(2)
  })

  it('takes one though what has expired goes to the dead letters.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { capacity: 20, expired: 'dead_letter' })
    await push(queues, queue, short(named('old', 20)))
    stage.clock.pass(10_000)
    await push(queues, queue, named('new', 20))
    const { items } = await queues.browse(deadLetterQueueOf(queue), { limit: 100 })
    expect(items).toHaveLength(20)
  })

  it('passes over nothing that lies behind an item which has not expired.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { capacity: 4 })
    await push(queues, queue, [...short(named('old', 1)), ...named('new', 1)])
    await push(queues, queue, short(named('older', 2)))
    stage.clock.pass(10_000)
    await push(queues, queue, named('more', 1))
    await expectCode(push(queues, queue, named('more', 1)), 'QUEUE_FULL')
    const { items } = await popItems(queues, queue, { count: 9 })
    expect(textsOf(items)).toEqual(['"new0"', '"more0"'])
  })
})

describe('If nothing has expired,', () => {
  it('a process that was refused by a full queue reads nothing to be refused again.', async () => {
    const { stage, queues, queue } = onSimulated()
    for (let priority = 0; priority < 4; priority += 1) {
      await pushOneByOne(queues, queue, short(named('a', 40, priority), 86_400))
    }
    await tidy(queues, queue)
    await queues.configure(queue, { capacity: 160 })
    const process = stage.engine()
    const refused = () => expectCode(push(process, queue, named('b', 1)), 'QUEUE_FULL')
    await refused()
    const sent = await process.wire.during(async () => {
      for (let pushes = 0; pushes < 10; pushes += 1) await refused()
    })
    expect(sent).toEqual(Array(10).fill('UpdateCommand'))
  })

  const sentBy = async (items: readonly PushItem[]) => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, named('first', 1))
    queues.wire.sent.length = 0
    await push(queues, queue, items)
    const { lock } = await lockItems(queues, queue)
    const next = await lockItems(queues, queue, { acknowledge: lock.id })
    await queues.acknowledge(queue, { lockId: next.lock.id })
    const claim = await lockItems(queues, queue, competing)
    await queues.acknowledge(queue, { lockId: claim.lock.id })
    await popItems(queues, queue, { count: 3 })
    return { sent: queues.wire.sent.map(({ name }) => name), stage, queue }
  }

  it('items with an expiry cost the requests of others.', async () => {
    const items = named('a', 10)
    expect((await sentBy(short(items))).sent).toEqual((await sentBy(items)).sent)
  })

  it('a record whose items have none holds not a byte for it.', async () => {
    const { stage, queue } = await sentBy(named('a', 10))
    expect(await stage.stored(queue)).not.toHaveProperty('tm')
    expect((await stage.stored(queue))?.L['0']?.t.every((entry) => entry.startsWith('i'))).toBe(
      true,
    )
  })
})

describe('A push with an expiry', () => {
  const refused: readonly (readonly [string, Partial<PushItem>, string])[] = [
    ['in two ways', { expiresInSeconds: 1, expiresAtMs: 1 }, 'expires_at'],
    ['that is no integer', { expiresInSeconds: 1.5 }, 'expires_in_seconds'],
    ['before the push', { expiresInSeconds: -1 }, 'expires_in_seconds'],
    ['in six years', { expiresInSeconds: 6 * 31_557_600 }, 'expires_in_seconds'],
    ['at a time in 2286', { expiresAtMs: 9_999_999_999_000 }, 'expires_at'],
    ['that is no time', { expiresAtMs: Number.NaN }, 'expires_at'],
  ]
  for (const [name, times, field] of refused) {
    it(`${name} is refused, and the field is named.`, async () => {
      const { queues, queue } = onSimulated()
      const one = push(queues, queue, [{ text: '1', ...times }])
      await expect(one).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field })
      const two = push(queues, queue, [{ text: '1' }, { text: '2', ...times }])
      await expect(two).rejects.toMatchObject({ field: `items[1].${field}` })
    })
  }

  it('in the past is stored, and nobody gets it.', async () => {
    const { queues, queue } = onSimulated()
    await push(queues, queue, [
      { text: '1', expiresAtMs: 0 },
      { text: '2', expiresInSeconds: 0 },
    ])
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ count: 2 })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('that is repeated with its key some time later is the same push.', async () => {
    const { stage, queues, queue } = onSimulated()
    const request = { items: short(named('a', 1)), idempotencyKey: 'k' }
    const first = await queues.push(queue, request)
    stage.clock.pass(5_000)
    expect(await queues.push(queue, request)).toEqual({ ...first, repeated: true })
    await expectCode(
      queues.push(queue, { ...request, items: short(named('a', 1), 11) }),
      'IDEMPOTENCY_CONFLICT',
    )
  })
})

it('A queue of expired items only becomes dry when a pop has passed over them.', async () => {
  const { stage, queues, queue } = onSimulated()
  await push(queues, queue, short(named('a', 3)))
  stage.clock.pass(10_000)
  expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  expect(await stage.record(queue)).toMatchObject({ dry: true })
  await push(queues, queue, named('b', 1))
  expect(stage.announced.filter((line) => line.includes('items-available'))).toHaveLength(2)
})
