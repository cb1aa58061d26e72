// Pushes that linger, on the table: what they cost, and what each call hears.

import { describe, expect, test } from 'vitest'
import { openSimulated } from './stage.ts'
import { drain, textsOf } from './traffic.ts'
import { timedOut } from './wire.ts'

const item = (value: unknown) => ({ items: [{ text: JSON.stringify(value) }] })

function lingering(linger: object | boolean = true) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine({ linger }), stage.queue()]
  const left = async () => textsOf(await drain(stage.engine(), queue))
  return { stage, queues, queue, left }
}

describe('In an engine that lingers', () => {
  test('pushes of one turn are one append, in the order of the calls', async () => {
    const { stage, queues, queue, left } = lingering()
    await queues.push(queue, item('first'))
    const before = (await stage.record(queue)).appends
    const calls = Array.from({ length: 40 }, (_, n) => queues.push(queue, item(n)))
    const answers = await Promise.all(calls)
    expect((await stage.record(queue)).appends).toBe(before + 1)
    expect(new Set(answers.flatMap(({ ids }) => ids)).size).toBe(40)
    expect(await left()).toEqual(['"first"', ...Array.from({ length: 40 }, (_, n) => `${n}`)])
  })

  test('each call has the ids of its own items, over several priorities', async () => {
    const { stage, queues, queue } = lingering()
    const plain = { items: [{ text: '"b"', priority: 5 }, { text: '"c"' }] }
    const [a, many] = await Promise.all([queues.push(queue, item('a')), queues.push(queue, plain)])
    const stored = new Map(
      (await drain(stage.engine(), queue)).map(({ text, id }) => [id, text] as const),
    )
    expect(a.ids.map((id) => stored.get(id))).toEqual(['"a"'])
    expect(many.ids.map((id) => stored.get(id))).toEqual(['"b"', '"c"'])
  })

  test('pushes to more priorities than go together are several appends', async () => {
    const { stage, queues, queue } = lingering()
    await queues.push(queue, item('first'))
    const before = (await stage.record(queue)).appends
    const wide = (from: number) => ({
      items: Array.from({ length: 30 }, (_, n) => ({ text: '1', priority: from + n })),
    })
    await Promise.all([0, 30, 60].map((from) => queues.push(queue, wide(from))))
    expect((await stage.record(queue)).appends).toBe(before + 3)
    expect(await drain(stage.engine(), queue)).toHaveLength(91)
  })

  test('a call that is invalid is refused before it joins, and the others are pushed', async () => {
    const { queues, queue, left } = lingering()
    const answers = await Promise.allSettled([
      queues.push(queue, item('a')),
      queues.push(queue, { items: [{ text: 'no JSON' }] }),
      queues.push(queue, { ...item('x'), idempotencyKey: 'ü' }),
      queues.push(queue, { items: [] }),
      queues.push('no queue', item('x')),
      queues.push(queue, item('b')),
    ])
    const codes = answers.map((one) => (one.status === 'rejected' ? one.reason.code : 'pushed'))
    expect(codes).toEqual([
      'pushed',
      'INVALID_ITEM',
      'INVALID_PARAMETER',
      'INVALID_ITEM',
      'INVALID_QUEUE_ID',
      'pushed',
    ])
    expect(await left()).toEqual(['"a"', '"b"'])
  })

  test('pushes with keys go together with plain ones, and a repetition hears so', async () => {
    const { queues, queue, left } = lingering()
    const keyed = { ...item('k'), idempotencyKey: 'key' }
    const [first, , again] = await Promise.all([
      queues.push(queue, keyed),
      queues.push(queue, item('plain')),
      queues.push(queue, keyed),
    ])
    expect(again).toEqual({ ids: first.ids, repeated: true })
    const [conflict, other] = await Promise.allSettled([
      queues.push(queue, { ...item('other'), idempotencyKey: 'key' }),
      queues.push(queue, item('last')),
    ])
    expect(conflict).toMatchObject({ reason: { code: 'IDEMPOTENCY_CONFLICT' } })
    expect(other.status).toBe('fulfilled')
    expect(await left()).toEqual(['"k"', '"plain"', '"last"'])
  })

  test('a queue without room for all takes what fits, in order, and says so to the rest', async () => {
    const { queues, queue, left } = lingering()
    await queues.configure(queue, { capacity: 6 })
    const calls = Array.from({ length: 10 }, (_, n) => queues.push(queue, item(n)))
    const answers = await Promise.allSettled(calls)
    expect(answers.map(({ status }) => status === 'fulfilled')).toEqual(
      Array.from({ length: 10 }, (_, n) => n < 6),
    )
    expect(answers[9]).toMatchObject({ reason: { code: 'QUEUE_FULL', outcome: undefined } })
    expect(await left()).toEqual(['0', '1', '2', '3', '4', '5'])
  })

  test('a full queue is asked a few times, and not once for each call', async () => {
    const { queues, queue } = lingering()
    await queues.push(queue, item('a'))
    await queues.configure(queue, { capacity: 1 })
    const sent = await queues.wire.during(() =>
      Promise.allSettled(Array.from({ length: 64 }, (_, n) => queues.push(queue, item(n)))),
    )
    expect(sent.filter((name) => name === 'UpdateCommand').length).toBe(7)
  })

  test('a lost answer is looked for once, for all calls that went with it', async () => {
    const { queues, queue, left } = lingering()
    await queues.push(queue, item('first'))
    const losses = [timedOut()]
    queues.wire.steering = {
      after({ name }) {
        if (name !== 'UpdateCommand') return
        for (const error of losses.splice(0)) throw error
      },
    }
    const calls = await Promise.allSettled([
      queues.push(queue, item('a')),
      queues.push(queue, { ...item('b'), idempotencyKey: 'b' }),
    ])
    expect(losses).toEqual([])
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await left()).toEqual(['"first"', '"a"', '"b"'])
  })

  test('flush sends what lingers', async () => {
    const { queues, queue, left } = lingering({ waitMs: 10_000 })
    const calls = [queues.push(queue, item('a')), queues.push(queue, item('b'))]
    await queues.flush()
    await Promise.all(calls)
    expect(await left()).toEqual(['"a"', '"b"'])
  })
})

test('An engine that does not linger appends each push by itself, and flush has nothing to do', async () => {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.push(queue, item('first'))
  const before = (await stage.record(queue)).appends
  await Promise.all([queues.push(queue, item('a')), queues.push(queue, item('b'))])
  await queues.flush()
  expect((await stage.record(queue)).appends).toBe(before + 2)
})
