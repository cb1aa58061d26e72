import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BatchAnswer,
  type DeliveryEdge,
  type DeliveryRules,
  deliverBatch,
} from '../../../local/streams/stream-mapping.ts'
import { aRecord } from './a-record.ts'

const failed = (from = 0): BatchAnswer => ({ kind: 'failed', from })
const done: BatchAnswer = { kind: 'done' }

/** Delivers records 1 … n; `answer` gets the sequence numbers and how often it was asked before. */
async function deliver(
  n: number,
  rules: DeliveryRules,
  answer: (numbers: readonly number[], asked: number) => BatchAnswer,
  { nowMs = 0, stopAfter = Number.POSITIVE_INFINITY } = {},
) {
  const asked: number[][] = []
  const nextWhenAsked: number[] = []
  const settled: number[] = []
  const givenUp: string[] = []
  const pauses: number[] = []
  const edge: DeliveryEdge = {
    async invoke(records) {
      const numbers = records.map(numberOf)
      const one = answer(numbers, asked.length)
      asked.push(numbers)
      nextWhenAsked.push(settled.length + 1)
      return one
    },
    giveUp: (records, reason, attempts) =>
      givenUp.push(`${records.map(numberOf)} ${reason} ${attempts}`),
    settled: (records) => settled.push(...records.map(numberOf)),
    nowMs: () => nowMs,
    async sleep(ms) {
      pauses.push(ms)
    },
    isStopping: () => asked.length >= stopAfter,
  }
  const records = Array.from({ length: n }, (_, index) => aRecord(index + 1))
  await deliverBatch(records, rules, edge)
  return { asked, nextWhenAsked, settled, givenUp, pauses }
}

const numberOf = ({ dynamodb }: { dynamodb: { SequenceNumber: string } }) =>
  Number(dynamodb.SequenceNumber)

describe('a batch', () => {
  test('that is taken is settled', async () => {
    expect(await deliver(3, { bisects: false }, () => done)).toEqual({
      asked: [[1, 2, 3]],
      nextWhenAsked: [1],
      settled: [1, 2, 3],
      givenUp: [],
      pauses: [],
    })
  })

  test('that fails is delivered again, later each time', async () => {
    const run = await deliver(2, { bisects: false }, (_, asked) => (asked < 9 ? failed() : done))
    expect(run.asked).toHaveLength(10)
    expect(run.settled).toEqual([1, 2])
    expect(run.pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
  })

  test('that fails for ever is given up after the retries', async () => {
    const run = await deliver(2, { bisects: false, retriesMax: 2 }, () => failed())
    expect(run.asked).toHaveLength(3)
    expect(run.givenUp).toEqual(['1,2 RetryAttemptsExhausted 3'])
    expect(run.settled).toEqual([1, 2])
  })

  test('without retries is tried once', async () => {
    const run = await deliver(1, { bisects: false, retriesMax: 0 }, () => failed())
    expect(run.asked).toEqual([[1]])
    expect(run.givenUp).toEqual(['1 RetryAttemptsExhausted 1'])
  })

  test('is halved until the bad record is alone, and only that one is given up', async () => {
    const bad = (numbers: readonly number[]) => (numbers.includes(3) ? failed() : done)
    const run = await deliver(4, { bisects: true, retriesMax: 1 }, bad)
    expect(run.asked).toEqual([[1, 2, 3, 4], [1, 2], [3, 4], [3], [3], [4]])
    expect(run.givenUp).toEqual(['3 RetryAttemptsExhausted 2'])
    expect(run.settled).toEqual([1, 2, 3, 4])
  })

  test('goes on behind what the function says it has taken', async () => {
    const run = await deliver(4, { bisects: false }, (numbers, asked) =>
      asked === 0 ? failed(2) : numbers[0] === 3 && asked === 1 ? failed(1) : done,
    )
    expect(run.asked).toEqual([[1, 2, 3, 4], [3, 4], [4]])
    expect(run.settled).toEqual([1, 2, 3, 4])
  })

  test('counts the failures of the first record that is left', async () => {
    const run = await deliver(3, { bisects: false, retriesMax: 1 }, (numbers) =>
      failed(numbers.indexOf(2) > 0 ? 1 : 0),
    )
    expect(run.asked).toEqual([
      [1, 2, 3],
      [2, 3],
    ])
    expect(run.givenUp).toEqual(['2,3 RetryAttemptsExhausted 2'])
  })

  test('does not hold the failures of one record against the next', async () => {
    const run = await deliver(2, { bisects: false, retriesMax: 2 }, (_, asked) =>
      failed(asked === 1 ? 1 : 0),
    )
    expect(run.asked).toEqual([[1, 2], [1, 2], [2], [2]])
    expect(run.givenUp).toEqual(['2 RetryAttemptsExhausted 3'])
  })

  test('that nobody was asked about does not count', async () => {
    const run = await deliver(1, { bisects: true, retriesMax: 0 }, (_, asked) =>
      asked < 3 ? { kind: 'not asked' } : done,
    )
    expect(run.asked).toHaveLength(4)
    expect(run.givenUp).toEqual([])
  })

  test('loses the records that are too old', async () => {
    // Records are made a second apart, the first at 1 s.
    const run = await deliver(3, { bisects: false, recordAgeMaxMs: 1000 }, () => done, {
      nowMs: 3500,
    })
    expect(run.asked).toEqual([[3]])
    expect(run.givenUp).toEqual(['1,2 RecordAgeExceeded 0'])
    expect(run.settled).toEqual([1, 2, 3])
  })

  test('is left as it is when the stack stops', async () => {
    const run = await deliver(4, { bisects: true }, () => failed(), { stopAfter: 2 })
    expect(run.settled).toEqual([])
    expect(run.givenUp).toEqual([])
  })
})

test('whatever the function says: each record is settled once, in order, and none is passed over', async () => {
  const said = fc.oneof(
    fc.constant(done),
    fc.constant<BatchAnswer>({ kind: 'not asked' }),
    fc.nat(5).map(failed),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.array(said, { maxLength: 30 }),
      fc.boolean(),
      fc.nat(3),
      async (n, answers, bisects, retriesMax) => {
        const run = await deliver(n, { bisects, retriesMax }, (numbers, asked) => {
          const answer = answers[asked] ?? done
          return answer.kind === 'failed' && answer.from >= numbers.length ? failed() : answer
        })
        expect(run.settled).toEqual(Array.from({ length: n }, (_, index) => index + 1))
        // Whenever it was asked, it was for the first one that was not settled.
        expect(run.asked.map(([first]) => first)).toEqual(run.nextWhenAsked)
      },
    ),
  )
})
