import { describe, expect, test } from 'vitest'
import { batchAnswer } from '../../../local/streams/batch-answer.ts'
import { aRecord } from './a-record.ts'

const records = [aRecord(8), aRecord(9), aRecord(10)]
const answered = (answer: unknown) =>
  ({ kind: 'answered', payload: JSON.stringify(answer) }) as const
const failures = (...ids: unknown[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
})

describe('what a function says about a batch', () => {
  test.each([
    { name: 'nothing is success', answer: null, result: { kind: 'done' } },
    { name: 'an empty text is success', answer: '', result: { kind: 'done' } },
    { name: 'an object without failures is success', answer: {}, result: { kind: 'done' } },
    {
      name: 'null for failures is success',
      answer: { batchItemFailures: null },
      result: { kind: 'done' },
    },
    { name: 'no failures is success', answer: failures(), result: { kind: 'done' } },
    { name: 'one that failed', answer: failures('9'), result: { kind: 'failed', from: 1 } },
    {
      name: 'the first of several',
      answer: failures('10', '9'),
      result: { kind: 'failed', from: 1 },
    },
    {
      name: 'a record that was not there fails all',
      answer: failures('9', '7'),
      result: { kind: 'failed', from: 0 },
    },
    { name: 'an empty name fails all', answer: failures(''), result: { kind: 'failed', from: 0 } },
    {
      name: 'failures that are no list fail all',
      answer: { batchItemFailures: 'x' },
      result: { kind: 'failed', from: 0 },
    },
    { name: 'something else fails all', answer: 'oops', result: { kind: 'failed', from: 0 } },
  ])('with item failures: $name', ({ answer, result }) => {
    expect(batchAnswer(answered(answer), records, true)).toEqual(result)
  })

  test('without them any answer is success', () => {
    expect(batchAnswer(answered(failures('8')), records, false)).toEqual({ kind: 'done' })
  })

  test('an error fails all, and a throttled call was none', () => {
    expect(batchAnswer({ kind: 'failed', payload: '{}' }, records, true)).toEqual({
      kind: 'failed',
      from: 0,
    })
    expect(batchAnswer({ kind: 'throttled' }, records, true)).toEqual({ kind: 'not asked' })
  })
})
