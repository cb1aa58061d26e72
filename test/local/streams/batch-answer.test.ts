import { describe, expect, test } from 'vitest'
import { batchAnswer } from '../../../local/streams/stream-mapping.ts'
import { aRecord } from './a-record.ts'

const records = [aRecord(8), aRecord(9), aRecord(10)]
const answered = (answer: unknown) =>
  ({ kind: 'answered', payload: JSON.stringify(answer) }) as const
const failures = (...ids: unknown[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
})

describe('what a function says about a batch', () => {
  test.each([
    ['nothing is success', null, { kind: 'done' }],
    ['an empty text is success', '', { kind: 'done' }],
    ['an object without failures is success', {}, { kind: 'done' }],
    ['null for failures is success', { batchItemFailures: null }, { kind: 'done' }],
    ['no failures is success', failures(), { kind: 'done' }],
    ['one that failed', failures('9'), { kind: 'failed', from: 1 }],
    ['the first of several', failures('10', '9'), { kind: 'failed', from: 1 }],
    ['a record that was not there fails all', failures('9', '7'), { kind: 'failed', from: 0 }],
    ['an empty name fails all', failures(''), { kind: 'failed', from: 0 }],
    ['failures that are no list fail all', { batchItemFailures: 'x' }, { kind: 'failed', from: 0 }],
    ['something else fails all', 'oops', { kind: 'failed', from: 0 }],
  ])('with item failures: %s', (_, answer, result) => {
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
