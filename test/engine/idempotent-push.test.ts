import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../lambdas/engine/queues.ts'
import { openSimulated, type Stage } from './stage.ts'
import { drain, expectCode, named, popItems, push, pushOneByOne, textsOf } from './traffic.ts'
import { freezeAt, timedOut } from './wire.ts'

const once = (stage: Stage, queue: string, items: readonly PushItem[], idempotencyKey = 'key') =>
  stage.engine().push(queue, { items, idempotencyKey })

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

  it('is forgotten after its time, even where DynamoDB has not deleted the receipt.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const queues = stage.engine({ idempotencyTtlSeconds: 60 })
    const request = { items: named('a', 1), idempotencyKey: 'key' }
    const first = await queues.push(queue, request)
    stage.clock.pass(59_000)
    expect(await queues.push(queue, request)).toEqual({ ...first, repeated: true })
    stage.clock.pass(2_000)
    const second = await queues.push(queue, { items: named('b', 1), idempotencyKey: 'key' })
    expect(second).not.toEqual(first)
    const [receipt] = await stage.rows(queue, 'i')
    expect(receipt?.ttl).toBe(Math.ceil(stage.clock.nowMs() / 1000) + 60)
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

it('Beside a storm of appends it still gets in, and finds where it landed.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const request = { items: named('a', 3), idempotencyKey: 'key' }
  // Another append always comes between its look and its write.
  const rival = stage.engine()
  let transactions = 0
  const queues = stage.engine({
    before: async ({ name }) => {
      if (name !== 'TransactWriteCommand') return
      transactions += 1
      await push(rival, queue, named('r', 1, 0, transactions))
    },
  })
  const { ids } = await queues.push(queue, request)
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
        if (name !== 'TransactWriteCommand' || lost > 1) return
        lost += 1
        throw timedOut()
      },
    })
    const { ids } = await queues.push(queue, { items, idempotencyKey: 'key' })
    const left = (await drain(stage.engine(), queue)).slice(2)
    expect(left.map(({ id }) => id)).toEqual(ids)
    expect(textsOf(left)).toEqual(textsOf(items))
  }
})

it('One that lands after its sender has been replaced by a repetition changes nothing.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const frozen = freezeAt(2)
  const request = { items: named('a', 2), idempotencyKey: 'key' }
  const slow = stage.engine(frozen).push(queue, request)
  await frozen.reached
  const first = await stage.engine().push(queue, request)
  frozen.thaw()
  expect(await slow).toEqual({ ...first, repeated: true })
  expect(await drain(stage.engine(), queue)).toHaveLength(3)
})
