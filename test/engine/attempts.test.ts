import { expect, it } from 'vitest'
import { createEngine } from '../../engine/create-engine.ts'
import { attempts } from '../../engine/driver/attempts.ts'
import {
  act,
  again,
  asStored,
  type Decision,
  lost,
  type View,
} from '../../engine/driver/decision.ts'

import { QueueError } from '../../shared/errors.ts'
import { seeded } from '../../testing/random.ts'
import { openSimulated } from './stage.ts'
import { named, push } from './traffic.ts'

/** What the driver does with a step's decisions; that verbs decide well is for the tests of the verbs. */

const QUEUE = 'orders'
const refusal = new QueueError('LOCK_EXPIRED', 'no')
const course = { from: 'memory', attemptsMax: 3 } as const

/** An engine that remembers the queue as it was before another process pushed to it. */
async function remembering() {
  const stage = openSimulated()
  await push(stage.engine(), QUEUE, named('a', 1))
  const { tableName, bucketName, dynamodb, s3 } = stage.store
  const { clock } = stage
  const engine = createEngine({ tableName, bucketName, dynamodb, s3, clock, random: seeded(1) })
  await engine.records.read(QUEUE)
  await push(stage.engine(), QUEUE, named('b', 1))
  const views: View[] = []
  const run = <T>(decide: (view: View) => Decision<T>) =>
    attempts<T>(engine, QUEUE, course, (view) => {
      views.push(view)
      return decide(view)
    })
  return { run, views }
}

it.each<[string, Decision<number>]>([
  ['An answer', { kind: 'answer', answer: 1 }],
  ['A refusal', { kind: 'refuse', error: refusal }],
])('%s is never given by a record from memory.', async (_, decision) => {
  const { run, views } = await remembering()
  await run(() => decision).catch((error: unknown) => expect(error).toBe(refusal))
  const seen = views.map(({ isCurrent, record }) => [isCurrent, record?.appends])
  expect(seen).toEqual([
    [false, 1],
    [true, 2],
  ])
})

it.each([
  ['another attempt', again],
  ['a lost race', lost],
])('What %s hands on as remembered gives no answer either.', async (_, handOn) => {
  const { run, views } = await remembering()
  await run<number>((view) =>
    view.attempt === 1
      ? act(async () => handOn({ record: view.record, isCurrent: false }))
      : { kind: 'answer', answer: 1 },
  )
  const seen = views.map(({ isCurrent, record }) => [isCurrent, record?.appends])
  expect(seen).toEqual([
    [false, 1],
    [false, 1],
    [true, 2],
  ])
})

it('When attempts are used up the record that the last one left may answer, and nothing is sent.', async () => {
  const { run, views } = await remembering()
  let acts = 0
  const lose = (view: View): Decision<string> =>
    view.attempt > course.attemptsMax
      ? { kind: 'answer', answer: 'in the end' }
      : {
          kind: 'act',
          async act() {
            acts += 1
            return lost(asStored(view.record))
          },
        }
  expect(await run(lose)).toBe('in the end')
  expect([acts, views.length]).toEqual([3, 4])
  await expect(run(({ record }) => act(async () => lost(asStored(record))))).rejects.toMatchObject({
    code: 'BUSY',
    outcome: undefined,
  })
})

it('While a lost answer is open only a final refusal says that nothing was changed.', async () => {
  async function refuse(isFinal: boolean) {
    const { run } = await remembering()
    return run(({ inDoubt, record }) =>
      inDoubt
        ? { kind: 'refuse', error: refusal, isFinal }
        : {
            kind: 'act',
            act: async () => ({
              kind: 'doubt',
              cause: new Error('lost'),
              settle: async () => again(asStored(record)),
            }),
          },
    )
  }
  await expect(refuse(true)).rejects.toBe(refusal)
  await expect(refuse(false)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    outcome: 'unknown',
    cause: refusal,
  })
})
