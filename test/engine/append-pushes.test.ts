import { describe, expect, it } from 'vitest'
import { type Sequence, sequenceOf } from '../../engine/core/repeated-pushes.ts'
import { createEngine } from '../../engine/create-engine.ts'
import { moveNotes } from '../../engine/storing/seal.ts'
import { appendPushes } from '../../engine/verbs/push.ts'
import { openSimulated, type Stage } from './stage.ts'
import { drain, named, popItems, push, textsOf } from './traffic.ts'
import { type Steering, timedOut, Wire } from './wire.ts'

it('Several pushes go in one append, each with its own answer.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const engine = engineOf(stage)
  const pushes = [
    { items: named('a', 2), idempotencyKey: 'a' },
    { items: named('b', 1) },
    { items: [], idempotencyKey: 'empty' },
    { items: [...named('c', 1), ...named('d', 1, 3)], idempotencyKey: 'c' },
  ]
  const [a, b, none, c] = await appendPushes(engine, queue, pushes)
  expect([a?.kind, b?.kind, none?.kind, c?.kind]).toEqual(['pushed', 'pushed', 'failed', 'pushed'])
  expect((await stage.record(queue)).appends).toBe(2)
  const again = await appendPushes(engineOf(stage), queue, pushes)
  expect(again[0]).toEqual({ ...a, kind: 'repeated' })
  expect(again[3]).toEqual({ ...c, kind: 'repeated' })
  const left = await drain(stage.engine(), queue)
  expect(textsOf(left)).toEqual(['"a0"', '"a1"', '"b0"', '"c0"', '"b0"', '"d0"'])
  const ids = [a, b, c].flatMap((outcome) => (outcome?.kind === 'pushed' ? outcome.ids : []))
  expect(ids).toEqual([0, 1, 2, 3, 5].map((index) => left[index]?.id))
})

it('Two pushes with one key to a full queue both fail because it is full.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await stage.engine().configure(queue, { capacity: 1 })
  await push(stage.engine(), queue, named('first', 1))
  const twin = { items: named('twin', 1), idempotencyKey: 'k' }
  const pushes = [{ items: named('a', 1), idempotencyKey: 'a' }, twin, twin]
  // The keys behind the first are looked up together, and DynamoDB refuses to be asked for a row twice.
  expect(await appendPushes(engineOf(stage), queue, pushes)).toMatchObject(
    pushes.map(() => ({ kind: 'failed', error: { code: 'QUEUE_FULL' } })),
  )
})

it('A push that the queue’s sequence has already reached is not appended again.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const messages = Array.from({ length: 5 }, (_, n) => ({
    items: named(`m${n}`, 1),
    sequence: at(n),
  }))
  await appendPushes(engineOf(stage), queue, messages.slice(0, 2))
  const kinds = (await appendPushes(engineOf(stage), queue, messages)).map(({ kind }) => kind)
  expect(kinds).toEqual(['applied', 'applied', 'pushed', 'pushed', 'pushed'])
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(
    messages.flatMap(({ items }) => textsOf(items)),
  )
})

const at = (n: number): Sequence => sequenceOf('inbox', String(n))

it('If another process has applied some of the messages meanwhile, only the rest is appended.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const messages = named('m', 5).map((item, n) => ({ items: [item], sequence: at(n) }))
  const slow = engineOf(stage)
  await appendPushes(slow, queue, messages.slice(0, 1))
  await appendPushes(engineOf(stage), queue, messages.slice(1, 3))
  const outcomes = await appendPushes(slow, queue, messages.slice(1))
  expect(outcomes.map(({ kind }) => kind)).toEqual(['applied', 'applied', 'pushed', 'pushed'])
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('m', 5)))
})

describe('If there is no room for one of several pushes', () => {
  const pushes = [named('a', 2), named('b', 2), named('c', 1)].map((items) => ({ items }))
  const kindsWith = async (sequenced: boolean) => {
    const [stage, queue] = [openSimulated(), 'queue']
    await stage.engine().configure(queue, { capacity: 3 })
    const outcomes = await appendPushes(
      engineOf(stage),
      queue,
      pushes.map((push, n) => ({ ...push, ...(sequenced && { sequence: at(n) }) })),
    )
    const left = textsOf(await drain(stage.engine(), queue))
    expect(left).toEqual(
      outcomes.flatMap(({ kind }, n) => (kind === 'pushed' ? textsOf(pushes[n]?.items ?? []) : [])),
    )
    return outcomes.map((outcome) =>
      outcome.kind === 'failed' ? (outcome.error as { code: string }).code : outcome.kind,
    )
  }

  it('the others go in.', async () => {
    expect(await kindsWith(false)).toEqual(['pushed', 'QUEUE_FULL', 'pushed'])
  })

  it('no message of a sequence overtakes it.', async () => {
    expect(await kindsWith(true)).toEqual(['pushed', 'QUEUE_FULL', 'QUEUE_FULL'])
  })
})

it('The second of two pushes with the same key repeats the first, or conflicts with it.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const [items, idempotencyKey] = [named('a', 2), 'key']
  const [one, two, three, four] = await appendPushes(engineOf(stage), queue, [
    { items, idempotencyKey },
    { items, idempotencyKey },
    { items: named('b', 1), idempotencyKey },
    { items: named('c', 1) },
  ])
  expect(one?.kind).toBe('pushed')
  expect(two).toEqual({ ...one, kind: 'repeated' })
  expect(three).toMatchObject({ kind: 'failed', error: { code: 'IDEMPOTENCY_CONFLICT' } })
  expect(four?.kind).toBe('pushed')
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a0"', '"a1"', '"c0"'])
})

it('A push in an append that a pop has cut between its pushes still knows its place.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const pushes = [{ items: named('a', 2) }, { items: named('b', 2), idempotencyKey: 'b' }]
  const [, b] = await appendPushes(engineOf(stage), queue, pushes)
  await popItems(stage.engine(), queue, { count: 1 })
  expect((await stage.record(queue)).lanes.get(0)?.sealed).toBe(1)
  const [again] = await appendPushes(engineOf(stage), queue, pushes.slice(1))
  expect(again).toEqual({ ...b, kind: 'repeated' })
})

it('More pushes than fit into one append go in several, in their order.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const pushes = named('p', 60).map((item, n) => ({ items: [item], idempotencyKey: `key-${n}` }))
  const outcomes = await appendPushes(engineOf(stage), queue, pushes)
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['pushed']))
  expect((await stage.record(queue)).appends).toBeLessThan(6)
  const again = await appendPushes(engineOf(stage), queue, pushes)
  expect(again).toEqual(outcomes.map((outcome) => ({ ...outcome, kind: 'repeated' })))
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(
    textsOf(pushes.flatMap(({ items }) => items)),
  )
})

it('An answer that is lost makes one of several pushes no repetition, and loses no ids.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const pushes = [{ items: named('a', 2) }, { items: named('b', 1), idempotencyKey: 'b' }]
  let lost = 0
  const engine = engineOf(stage, {
    after: ({ name }) => {
      if (name === 'UpdateCommand' && lost++ === 0) throw timedOut()
    },
  })
  const outcomes = await appendPushes(engine, queue, pushes)
  const [, ...left] = await drain(stage.engine(), queue)
  expect(outcomes.map(({ kind }) => kind)).toEqual(['pushed', 'pushed'])
  const ids = outcomes.flatMap((outcome) => (outcome.kind === 'pushed' ? outcome.ids : []))
  expect(ids).toEqual(left.map(({ id }) => id))
})

describe('A plain push in one append with a keyed one whose answer is lost', () => {
  const pushes = [{ items: named('a', 1) }, { items: named('b', 1), idempotencyKey: 'b' }]

  it('is not pushed again if the note has become a receipt meanwhile.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, named('z', 1))
    const other = engineOf(stage)
    let lost = 0
    const engine = engineOf(stage, {
      after: async ({ name }) => {
        if (name !== 'UpdateCommand' || lost++ > 0) return
        await moveNotes(other, await stage.record(queue))
        throw timedOut()
      },
    })
    const outcomes = await appendPushes(engine, queue, pushes)
    const [, ...left] = await drain(stage.engine(), queue)
    expect(textsOf(left)).toEqual(['"a0"', '"b0"'])
    expect(outcomes).toEqual(left.map(({ id }) => ({ kind: 'pushed', ids: [id] })))
  })

  it.each(['notes', 'receipts', 'one of each'])(
    'tells each push its ids by its own key, where their items have left the tail and the keys are %s.',
    async (kept) => {
      const [stage, queue] = [openSimulated(), 'queue']
      await push(stage.engine(), queue, [...named('z', 1), ...named('z', 1, 1)])
      const ids: string[] = []
      let lost = 0
      const engine = engineOf(stage, {
        after: async ({ name }) => {
          if (name !== 'UpdateCommand' || lost++ > 0) return
          for (const { id, text } of await drain(stage.engine(), queue)) {
            if (text !== '"z0"') ids.push(id)
          }
          if (kept === 'receipts') await moveNotes(engineOf(stage), await stage.record(queue))
          if (kept === 'one of each') await moveFirstNote(stage, queue)
          throw timedOut()
        },
      })
      const keyed = [0, 1].map((n) => ({ items: named('k', 1, n, n), idempotencyKey: `${n}` }))
      const outcomes = await appendPushes(engine, queue, keyed)
      expect(outcomes).toEqual(ids.map((id) => ({ kind: 'pushed', ids: [id] })))
    },
  )

  it('is pushed where the same key came in from another process in the same millisecond.', async () => {
    for (const becomes of ['note', 'receipt']) {
      const [stage, queue] = [openSimulated(), 'queue']
      await push(stage.engine(), queue, named('z', 1))
      const other = engineOf(stage)
      let lost = 0
      const engine = engineOf(stage, {
        before: async ({ name }) => {
          if (name !== 'UpdateCommand' || lost++ > 0) return
          await appendPushes(other, queue, pushes.slice(1))
          if (becomes === 'receipt') await moveNotes(other, await stage.record(queue))
          throw timedOut()
        },
      })
      const outcomes = await appendPushes(engine, queue, pushes)
      expect(outcomes.map(({ kind }) => kind)).toEqual(['pushed', 'repeated'])
      expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"z0"', '"b0"', '"a0"'])
    }
  })
})

/** As a seal does that has more notes than one write removes, and then dies. */
async function moveFirstNote(stage: Stage, queue: string): Promise<void> {
  let updates = 0
  const engine = engineOf(stage, {
    before: ({ name }) => {
      if (name === 'UpdateCommand' && ++updates > 1) throw new Error('It has died')
    },
  })
  const record = await stage.record(queue)
  const first = { ...record, notes: new Map([...record.notes].slice(0, 1)) }
  await expect(moveNotes(engine, first)).rejects.toThrow()
  expect((await stage.record(queue)).notes.size).toBe(record.notes.size - 1)
}

const engineOf = ({ store, clock }: Stage, steering: Steering = {}) =>
  createEngine({
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: new Wire(steering).through('dynamodb', store.dynamodb),
    s3: store.s3,
    clock,
    random: Math.random,
  } as never)
