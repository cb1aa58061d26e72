import { expect, it } from 'vitest'
import { sequenceOf } from '../../lambdas/engine/core/sequence.ts'
import { createEngine } from '../../lambdas/engine/create-engine.ts'
import { appendPushes } from '../../lambdas/engine/operations/pushing/append-pushes.ts'
import { openSimulated, type Stage } from './stage.ts'
import { drain, named, textsOf } from './traffic.ts'

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

it('What the queue has come to in its sequence is not appended again.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  const messages = Array.from({ length: 5 }, (_, n) => ({
    items: named(`m${n}`, 1),
    sequence: sequenceOf('inbox', String(n)),
  }))
  await appendPushes(engineOf(stage), queue, messages.slice(0, 2))
  const kinds = (await appendPushes(engineOf(stage), queue, messages)).map(({ kind }) => kind)
  expect(kinds).toEqual(['applied', 'applied', 'pushed', 'pushed', 'pushed'])
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(
    messages.flatMap(({ items }) => textsOf(items)),
  )
})

const engineOf = ({ store, clock }: Stage) =>
  createEngine({
    ...store,
    clock,
    random: Math.random,
    s3: store.s3,
    dynamodb: store.dynamodb,
  } as never)
