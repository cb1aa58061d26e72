import { describe, expect, it } from 'vitest'
import { changeRow } from '../../aws/change-row.ts'
import { Dynamo, type Row } from '../../aws/dynamo.ts'
import { QueueError } from '../../shared/errors.ts'
import { openSimulated } from '../engine/stage.ts'
import { timedOut } from '../engine/wire.ts'

const key = { pk: 'few', sk: 'share it' }
type Seen = { readonly version: number; readonly names: readonly string[] }

/** What becomes of one request; `next` sends it. */
type Fate = (next: () => Promise<unknown>, others: Others) => Promise<unknown>
type Others = { readonly add: (name: string) => Promise<unknown> }

const arrives: Fate = (next) => next()
const isLost: Fate = async () => {
  throw timedOut()
}
const answerIsLost: Fate = async (next) => {
  await next()
  throw timedOut()
}
const isTooLate: Fate = async (next, { add }) => {
  await add('rival')
  return next()
}
const answerIsLostBeforeAnother: Fate = async (next, { add }) => {
  await next()
  await add('rival')
  throw timedOut()
}
const isLostBeforeAnother: Fate = async (_, { add }) => {
  await add('rival')
  throw timedOut()
}
const isLostBeforeTwo: Fate = async (_, { add }) => {
  await add('rival')
  await add('another')
  throw timedOut()
}

const decode = (row: Row | undefined): Seen => {
  const { v = 0, n = [] } = (row ?? {}) as { v?: number; n?: string[] }
  return { version: v, names: n }
}

/** Adds a name, once, by requests with these fates; without `isCertain`, it may say that nobody knows. */
const adding = (dynamo: Dynamo, name: string, isCertain = false, paused: number[] = []) =>
  changeRow<Seen, string>(dynamo, {
    key,
    versions: ['v'],
    attemptsMax: 4,
    decode,
    decide({ version, names }) {
      if (names.includes(name) && isCertain) return { answer: 'there' }
      if (names.includes('stop')) throw new QueueError('VERSION_MISMATCH', 'Stop')
      return { answer: 'added', row: { ...key, v: version + 1, n: [...names, name] } }
    },
    pause: async (attempt) => void paused.push(attempt),
    busy: () => new Error('busy'),
    ...(!isCertain && { inDoubt: (cause) => new Error('in doubt', { cause }) }),
  })

function scene(fates: readonly Fate[], ofGets: readonly Fate[] = []) {
  const { store } = openSimulated()
  const clock = { nowMs: () => 0, sleep: async () => {} }
  const open = (port: { send: (command: never) => Promise<unknown> }) =>
    new Dynamo(port as never, store.tableName, clock, () => 0)
  const plain = open(store.dynamodb as never)
  const others: Others = { add: (name) => adding(plain, name) }
  const left = { PutCommand: [...fates], GetCommand: [...ofGets] }
  const dynamo = open({
    send(command: never) {
      const { name } = (command as object).constructor as { name: 'PutCommand' | 'GetCommand' }
      const fate = left[name].shift() ?? arrives
      return fate(() => store.dynamodb.send(command), others)
    },
  })
  const names = async () => decode(await plain.get(key, true)).names
  return { dynamo, plain, names, others }
}

describe('A change of a row', () => {
  const cases: readonly [string, readonly Fate[], string, readonly string[]][] = [
    ['is made', [arrives], 'added', ['mine']],
    ['is decided again if others were first', [isTooLate], 'added', ['rival', 'mine']],
    ['is sent again if it got lost', [isLost], 'added', ['mine']],
    ['that landed is not made again', [answerIsLost], 'added', ['mine']],
    [
      'that got lost often, and landed at last, is not made again',
      [isLost, isLost, answerIsLost],
      'added',
      ['mine'],
    ],
    [
      'whose place another took is decided again',
      [isLostBeforeAnother],
      'added',
      ['rival', 'mine'],
    ],
    [
      'that others may have followed is in doubt',
      [answerIsLostBeforeAnother],
      'in doubt',
      ['mine', 'rival'],
    ],
    [
      'that two others may have followed or kept out is in doubt',
      [isLostBeforeTwo],
      'in doubt',
      ['rival', 'another'],
    ],
    ['that gets lost each time is in doubt', [isLost, isLost, isLost, isLost], 'in doubt', []],
    [
      'that is late each time is given up',
      [isTooLate, isTooLate, isTooLate, isTooLate],
      'busy',
      Array.from({ length: 4 }, () => 'rival'),
    ],
  ]
  it.each(cases)('%s.', async (_, fates, expected, left) => {
    const { dynamo, names } = scene(fates)
    const told = await adding(dynamo, 'mine').catch((error: Error) => error.message)
    expect([told, await names()]).toEqual([expected, left])
  })

  it('that is right however often it is made decides again in place of a doubt.', async () => {
    for (const [fate, told] of [
      [answerIsLostBeforeAnother, 'there'],
      [isLostBeforeTwo, 'added'],
    ] as const) {
      const { dynamo, names } = scene([fate])
      expect(await adding(dynamo, 'mine', true)).toBe(told)
      expect((await names()).filter((name) => name === 'mine')).toHaveLength(1)
    }
  })

  it('is in doubt if its lost answer cannot be looked up, and else fails as the look did.', async () => {
    // A read is sent four times.
    const away = Array.from({ length: 4 }, () => isLost)
    const lost = scene([isLost], [arrives, ...away])
    await expect(adding(lost.dynamo, 'mine')).rejects.toThrow('in doubt')
    const unread = scene([], away)
    await expect(adding(unread.dynamo, 'mine')).rejects.toThrow(QueueError)
  })

  it('that is refused by what it sees is not made, and pauses between its tries.', async () => {
    const { dynamo, others, names } = scene([isTooLate])
    const paused: number[] = []
    await adding(dynamo, 'mine', false, paused)
    expect(paused).toEqual([1])
    await others.add('stop')
    await expect(adding(dynamo, 'late')).rejects.toThrow('Stop')
    expect(await names()).toEqual(['rival', 'mine', 'stop'])
  })

  it('goes with what is written beside it, both or neither.', async () => {
    const { plain } = scene([])
    const beside = { pk: 'beside', sk: 'it' }
    const change = (answer: string) =>
      changeRow<Seen, string>(plain, {
        key,
        versions: ['v', 'absent'],
        attemptsMax: 1,
        decode,
        decide: ({ version }) => ({ answer, row: { ...key, v: version + 1, n: [answer] } }),
        beside: [
          {
            Put: {
              TableName: plain.tableName,
              Item: { ...beside, answer },
              ConditionExpression: 'attribute_not_exists(pk)',
            },
          },
        ],
        busy: () => new Error('busy'),
      })
    expect(await change('first')).toBe('first')
    await expect(change('second')).rejects.toThrow('busy')
    expect([await plain.get(key, true), await plain.get(beside, true)]).toMatchObject([
      { n: ['first'] },
      { answer: 'first' },
    ])
  })
})
