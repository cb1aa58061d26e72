import { describe, expect, it } from 'vitest'
import { EMPTY_LANES_KEPT } from '../../engine/core/housekeeping.ts'
import { hashOf } from '../../engine/core/keys.ts'
import { FORGET_AFTER_MS, LANES_MAX } from '../../engine/core/limits.ts'
import { markOf } from '../../engine/core/repeated-pushes.ts'
import type { PushItem } from '../../engine/queues.ts'
import { openSimulated, type Stage } from './stage.ts'
import {
  drain,
  expectCode,
  idsOf,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  pushWide,
  textsOf,
  tidy,
} from './traffic.ts'
import { freezeAt, freezeAtUpdate, type Request, timedOut } from './wire.ts'

const once = (stage: Stage, queue: string, items: readonly PushItem[], idempotencyKey = 'key') =>
  stage.engine().push(queue, { items, idempotencyKey })

/** What carries a tail over its cap, so that it is sealed. */
const filling = named('f', 9).map(({ text }) => ({ text: JSON.stringify(text + '-'.repeat(200)) }))

/** Each by a producer of its own. */
async function fill(stage: Stage, queue: string): Promise<void> {
  for (const item of filling) await push(stage.engine(), queue, [item])
}

const keyed = (stage: Stage, queue: string, round: number) =>
  Promise.all(
    named('k', 8, 0, 8 * round).map((item) => once(stage, queue, [item], `other ${item.text}`)),
  )

/** Empty for so long that the sweeper forgets it. */
async function forget(stage: Stage, queue: string): Promise<void> {
  for (let sweep = 1; sweep <= 3 && (await stage.stored(queue)) !== undefined; sweep += 1) {
    stage.clock.pass(FORGET_AFTER_MS + 60_000)
    await stage.engine().returnExpiredLocks()
  }
  expect(await stage.stored(queue)).toBeUndefined()
}

describe('A push with an Idempotency-Key', () => {
  const sizes: readonly [string, PushItem[]][] = [
    ['one item', named('a', 1)],
    ['some items of several priorities', [...named('a', 2), ...named('b', 2, 4)]],
    ['a batch', named('a', 500)],
    [
      'a batch for each of 80 priorities',
      Array.from({ length: 80 }, (_, p) => named('a', 3, p)).flat(),
    ],
  ]
  it.each(sizes)('of %s has one effect and one answer, from any process.', async (_, items) => {
    for (const isThere of [false, true]) {
      const [stage, queue] = [openSimulated(), 'queue']
      if (isThere) await push(stage.engine(), queue, named('z', 1, 9))
      const first = await once(stage, queue, items)
      expect(new Set(first.ids).size).toBe(items.length)
      expect(await once(stage, queue, items)).toEqual({ ...first, repeated: true })
      const { items: popped } = await popItems(stage.engine(), queue, { count: 1 })
      expect(popped[0]?.id).toBe(first.ids[0])
      // Long after its items are gone, too.
      await drain(stage.engine(), queue)
      expect(await once(stage, queue, items)).toEqual({ ...first, repeated: true })
      expect(await stage.engine().pop(queue)).toEqual({ kind: 'empty' })
      await forget(stage, queue)
      expect(await once(stage, queue, items)).toEqual({ ...first, repeated: true })
      expect(await stage.rows(queue, 'i')).toHaveLength(1)
    }
  })

  it('conflicts with another body, and with another priority or order of the same.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const items = named('a', 2)
    await once(stage, queue, items)
    const others = [named('b', 2), named('a', 1), named('a', 2, 1), items.toReversed()]
    for (const other of others) {
      await expectCode(once(stage, queue, other), 'IDEMPOTENCY_CONFLICT')
    }
    await expectCode(once(stage, queue, named('c', 700)), 'IDEMPOTENCY_CONFLICT')
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(items))
    expect(await stage.rows(queue, 'b')).toEqual([])
  })

  it.each(['a note', 'a receipt'])('is forgotten after its time, while it is %s.', async (kept) => {
    const [stage, queue] = [openSimulated(), 'queue']
    const queues = () => stage.engine({ idempotencyTtlSeconds: 60 })
    const request = { items: named('a', 1), idempotencyKey: 'key' }
    const first = await queues().push(queue, request)
    const ttl = Math.ceil(stage.clock.nowMs() / 1000) + 60
    if (kept === 'a receipt') await fill(stage, queue)
    expect((await stage.rows(queue, 'i')).map((receipt) => receipt.ttl)).toEqual(
      kept === 'a receipt' ? [ttl] : [],
    )
    stage.clock.pass(59_000)
    expect(await queues().push(queue, request)).toEqual({ ...first, repeated: true })
    stage.clock.pass(2_000)
    const other = { items: named('b', 1), idempotencyKey: 'key' }
    const second = await queues().push(queue, other)
    expect(second).not.toEqual(first)
    expect(await queues().push(queue, other)).toEqual({ ...second, repeated: true })
  })

  it('fails because the store is out of reach if the note in its way cannot become a receipt.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const request = { items: named('a', 1), idempotencyKey: 'key' }
    await stage.engine({ idempotencyTtlSeconds: 60 }).push(queue, request)
    stage.clock.pass(61_000)
    const losesPuts = ({ name }: Request) => {
      if (name === 'PutCommand') throw timedOut()
    }
    const pushing = stage.engine({ after: losesPuts }).push(queue, request)
    await expect(pushing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: undefined })
    expect(await drain(stage.engine(), queue)).toHaveLength(1)
  })

  it('gets its first answer again when the queue is full by now, and a new one is refused.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await stage.engine().configure(queue, { capacity: 2 })
    const first = await once(stage, queue, named('a', 2))
    expect(await once(stage, queue, named('a', 2))).toEqual({ ...first, repeated: true })
    await expectCode(once(stage, queue, named('b', 1), 'new'), 'QUEUE_FULL')
    await popItems(stage.engine(), queue)
    await once(stage, queue, named('b', 1), 'new')
  })

  it.each(['', 'a\nb', 'é', 'x'.repeat(129)])('of %j is refused.', async (key) => {
    await expectCode(once(openSimulated(), 'queue', named('a', 1), key), 'INVALID_PARAMETER')
  })
})

it('Eight processes that push with the same key at once have one effect and one answer.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  for (const [key, items] of [
    ['small', named('a', 2)],
    ['large', named('b', 400)],
  ] as const) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => once(stage, queue, items, key)),
    )
    expect(new Set(answers.map(({ ids }) => ids.join())).size).toBe(1)
    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1)
  }
  expect(await drain(stage.engine(), queue)).toHaveLength(402)
})

it('Appends that come between do not keep it from going in at once, and it knows its place.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const request = { items: named('a', 3), idempotencyKey: 'key' }
  const rival = stage.engine()
  let updates = 0
  const queues = stage.engine({
    before: async ({ name }) => {
      if (name !== 'UpdateCommand') return
      updates += 1
      await push(rival, queue, named('r', 1, 0, updates))
    },
  })
  const { ids } = await queues.push(queue, request)
  expect(updates).toBe(1)
  expect(await once(stage, queue, request.items)).toEqual({ ids, repeated: true })
  const left = await drain(stage.engine(), queue)
  const own = left.filter(({ text }) => text.startsWith('"a'))
  expect(own.map(({ id }) => id)).toEqual(ids)
  expect(textsOf(own)).toEqual(textsOf(request.items))
})

it('With its answer lost, it is sent again without a second effect.', async () => {
  for (const items of [named('a', 1), named('a', 300)]) {
    const [stage, queue] = [openSimulated(), 'queue']
    await pushOneByOne(stage.engine(), queue, named('z', 2))
    let lost = 0
    const queues = stage.engine({
      after: ({ name }) => {
        if (name !== 'UpdateCommand' || lost > 1) return
        lost += 1
        throw timedOut()
      },
    })
    const pushed = await queues.push(queue, { items, idempotencyKey: 'key' })
    expect(pushed).not.toHaveProperty('repeated')
    const left = (await drain(stage.engine(), queue)).slice(2)
    expect(left.map(({ id }) => id)).toEqual(pushed.ids)
    expect(textsOf(left)).toEqual(textsOf(items))
  }
})

it('With its answer lost, and its lane replaced by another meanwhile, it names its own item.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const rival = stage.engine()
  // As many empty lanes as a queue keeps.
  const others = Array.from({ length: EMPTY_LANES_KEPT }, (_, n) => named('z', 1, 1 + n)).flat()
  await push(rival, queue, others)
  await drain(rival, queue)
  let isLost = false
  const taken: string[] = []
  const queues = stage.engine({
    after: async ({ name }) => {
      if (name !== 'UpdateCommand' || isLost) return
      isLost = true
      taken.push(...idsOf((await popItems(rival, queue)).items))
      await tidy(rival, queue)
      taken.push(...(await push(rival, queue, named('r', 1))).ids)
      throw timedOut()
    },
  })
  const { ids } = await queues.push(queue, { items: named('a', 1), idempotencyKey: 'key' })
  expect(ids).toEqual([taken[0]])
  expect(ids).not.toEqual([taken[1]])
})

it('If its request and its answer are lost time and again, the outcome is unknown.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const queues = stage.engine({
    before: ({ name }) => {
      if (name === 'UpdateCommand') throw timedOut()
    },
  })
  const pushed = queues.push(queue, { items: named('a', 1), idempotencyKey: 'key' })
  await expect(pushed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
})

describe('An append that is frozen on its way', () => {
  /** What becomes of the note of the same key, which another call has brought meanwhile. */
  const meanwhile: readonly [string, (stage: Stage, queue: string) => Promise<unknown>][] = [
    ['is still a note', async () => {}],
    [
      'has become a receipt',
      async (stage, queue) => {
        await fill(stage, queue)
        expect((await stage.record(queue)).moved.marks).not.toBe('')
      },
    ],
    [
      'has become a receipt, and its mark is forgotten',
      async (stage, queue) => {
        for (let round = 0; round < 12; round += 1) {
          await keyed(stage, queue, round)
          await fill(stage, queue)
        }
        expect((await stage.record(queue)).moved.forgotten).toBeGreaterThan(0)
      },
    ],
    [
      'outlived its queue, which is made again',
      async (stage, queue) => {
        await drain(stage.engine(), queue)
        await forget(stage, queue)
        await push(stage.engine(), queue, named('y', 1))
      },
    ],
  ]
  it.each(meanwhile)('changes nothing where the first call’s %s.', async (_, become) => {
    for (const isThere of [true, false]) {
      const [stage, queue] = [openSimulated(), 'queue']
      if (isThere) await push(stage.engine(), queue, named('z', 1))
      const items = named('a', 2)
      const frozen = freezeAtUpdate()
      const slow = stage.engine(frozen).push(queue, { items, idempotencyKey: 'key' })
      await frozen.reached
      const first = await once(stage, queue, items)
      await become(stage, queue)
      const before = await stage.record(queue)
      frozen.thaw()
      expect(await slow).toEqual({ ...first, repeated: true })
      expect((await stage.record(queue)).appends).toBe(before.appends)
    }
  })
})

it('An append that is frozen changes nothing if a key with the same mark had left before it, too.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const [other, key] = twoOfOneMark(queue)
  await once(stage, queue, named('z', 1), other)
  await fill(stage, queue)
  const frozen = freezeAtUpdate()
  const slow = stage.engine(frozen).push(queue, { items: named('a', 2), idempotencyKey: key })
  await frozen.reached
  const first = await once(stage, queue, named('a', 2), key)
  await fill(stage, queue)
  frozen.thaw()
  expect(await slow).toEqual({ ...first, repeated: true })
})

function twoOfOneMark(queue: string): [string, string] {
  const known = new Map<string, string>()
  for (let n = 0; ; n += 1) {
    const mark = markOf(hashOf(queue, `${n}`))
    const other = known.get(mark)
    if (other !== undefined) return [other, `${n}`]
    known.set(mark, `${n}`)
  }
}

it.each(['free', 'taken by items that are done'])(
  'A push is a repetition, and not one too many, where another with its key has the last room, which was %s.',
  async (room) => {
    const [stage, queue] = [openSimulated(), 'queue']
    await stage.engine().configure(queue, { capacity: 3 })
    await push(stage.engine(), queue, named('z', room === 'free' ? 1 : 3))
    if (room !== 'free') {
      const { lock } = await lockItems(stage.engine(), queue, { count: 3, competing: true })
      await stage.engine().acknowledge(queue, { lockId: lock.id })
    }
    // Before its append, or before it makes room.
    const frozen = freezeAt(room === 'free' ? 3 : 4)
    const request = { items: named('a', 2), idempotencyKey: 'key' }
    const slow = stage.engine(frozen).push(queue, request)
    await frozen.reached
    const first = await stage.engine().push(queue, request)
    expect((await stage.record(queue)).room).toBeLessThan(2)
    frozen.thaw()
    expect(await slow).toEqual({ ...first, repeated: true })
  },
)

it('A push is a repetition where its priority is gone, and as many others have items as can.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const frozen = freezeAtUpdate()
  const request = { items: named('a', 1, 5), idempotencyKey: 'key' }
  const slow = stage.engine(frozen).push(queue, request)
  await frozen.reached
  const first = await stage.engine().push(queue, request)
  await drain(stage.engine(), queue)
  const others = Array.from({ length: LANES_MAX }, (_, n) => ({ text: '1', priority: 1_000 + n }))
  await pushWide(stage.engine(), queue, others)
  frozen.thaw()
  expect(await slow).toEqual({ ...first, repeated: true })
})

it('A producer that has remembered the record for long does not overwrite a younger receipt.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const engine = () => stage.engine({ idempotencyTtlSeconds: 60 })
  const lone = engine()
  await lone.push(queue, { items: named('a', 1), idempotencyKey: 'key' })
  await pushOneByOne(lone, queue, filling.slice(0, 7))
  stage.clock.pass(61_000)
  const second = await engine().push(queue, { items: named('b', 1), idempotencyKey: 'key' })
  await engine().housekeep(queue)
  expect(await stage.rows(queue, 'i')).toHaveLength(1)
  await pushOneByOne(lone, queue, filling.slice(7))
  const again = engine().push(queue, { items: named('b', 1), idempotencyKey: 'key' })
  expect(await again).toEqual({ ...second, repeated: true })
})

it('One that lands after its sender has been replaced by a repetition changes nothing.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const frozen = freezeAt(3)
  const request = { items: named('a', 2), idempotencyKey: 'key' }
  const slow = stage.engine(frozen).push(queue, request)
  await frozen.reached
  const first = await stage.engine().push(queue, request)
  frozen.thaw()
  expect(await slow).toEqual({ ...first, repeated: true })
  expect(await drain(stage.engine(), queue)).toHaveLength(3)
})
