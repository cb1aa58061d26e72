import { describe, expect, test } from 'vitest'
import { compilePattern } from '../../../local/events/event-language.ts'

const record = (image: object) => ({ eventName: 'MODIFY', dynamodb: { NewImage: image } })
const work = { dynamodb: { NewImage: { work: { S: [{ exists: true }] } } } }

type Case = {
  readonly name: string
  readonly pattern: Readonly<Record<string, unknown>>
  readonly fits: readonly unknown[]
  readonly not: readonly unknown[]
}

describe('an event fits a pattern', () => {
  test.each<Case>([
    {
      name: 'a value',
      pattern: { a: ['x', 1] },
      fits: [{ a: 'x' }, { a: 1 }, { a: 'x', b: 2 }],
      not: [{ a: '1' }, {}, { b: 'x' }, { a: { x: 1 } }],
    },
    { name: 'null is a value', pattern: { a: [null] }, fits: [{ a: null }], not: [{}, { a: '' }] },
    {
      name: 'fields are all wanted',
      pattern: { a: [1], b: [2] },
      fits: [{ a: 1, b: 2 }],
      not: [{ a: 1 }, { b: 2 }],
    },
    {
      name: 'one of a list',
      pattern: { a: ['x'] },
      fits: [{ a: ['y', 'x'] }],
      not: [{ a: [] }, { a: ['y'] }],
    },
    {
      name: 'deeper fields',
      pattern: { a: { b: ['x'] } },
      fits: [{ a: { b: 'x' } }],
      not: [{ a: 'x' }, { a: { b: 'y' } }, {}],
    },
    {
      name: 'a string attribute that exists',
      pattern: work,
      fits: [record({ work: { S: 'x' } })],
      not: [record({}), record({ work: { N: '1' } }), { dynamodb: {} }, {}],
    },
    {
      name: 'an object does not exist: only leaves do',
      pattern: { a: [{ exists: true }] },
      fits: [{ a: 1 }, { a: null }],
      not: [{ a: { b: 1 } }, {}],
    },
    {
      name: 'what is not there',
      pattern: { a: { b: [{ exists: false }] } },
      fits: [{}, { a: {} }],
      not: [{ a: { b: 1 } }],
    },
    {
      name: 'an attribute that was not there, whether or not there was a row',
      pattern: { dynamodb: { OldImage: { born: { S: [{ exists: false }] } } } },
      fits: [
        { dynamodb: {} },
        { dynamodb: { OldImage: {} } },
        { dynamodb: { OldImage: { born: {} } } },
        { dynamodb: { OldImage: { pk: { S: 's#x' } } } },
        // Another leaf is there, and this one is not.
        { dynamodb: { OldImage: { born: { N: '1' } } } },
      ],
      not: [{ dynamodb: { OldImage: { born: { S: 'x' } } } }],
    },
    {
      name: 'a prefix',
      pattern: { a: [{ prefix: 'q#' }] },
      fits: [{ a: 'q#x' }],
      not: [{ a: 's#x' }, { a: 7 }],
    },
    {
      name: 'a prefix in any case',
      pattern: { a: [{ prefix: { 'equals-ignore-case': 'Q#' } }] },
      fits: [{ a: 'q#x' }],
      not: [{ a: 'x' }],
    },
    {
      name: 'a suffix',
      pattern: { a: [{ suffix: '.png' }] },
      fits: [{ a: 'x.png' }],
      not: [{ a: 'png.x' }],
    },
    {
      name: 'any case',
      pattern: { a: [{ 'equals-ignore-case': 'Ab' }] },
      fits: [{ a: 'aB' }],
      not: [{ a: 'abc' }],
    },
    {
      name: 'a wildcard',
      pattern: { a: [{ wildcard: 'q.*-\\*' }] },
      fits: [{ a: 'q.x-*' }, { a: 'q.-*' }],
      not: [{ a: 'q.x-y' }, { a: 'qxx-*' }],
    },
    {
      name: 'a number in bounds',
      pattern: { a: [{ numeric: ['>', 0, '<=', 5] }] },
      fits: [{ a: 5 }, { a: 0.1 }],
      not: [{ a: 0 }, { a: 6 }],
    },
    {
      name: "a number of DynamoDB's is text, and no number",
      pattern: { N: [{ numeric: ['=', 1] }] },
      fits: [{ N: 1 }],
      not: [{ N: '1' }],
    },
    {
      name: 'anything but a value',
      pattern: { a: [{ 'anything-but': 'x' }] },
      fits: [{ a: 'y' }, { a: 1 }],
      not: [{ a: 'x' }, {}],
    },
    {
      name: 'anything but several',
      pattern: { a: [{ 'anything-but': ['x', 1] }] },
      fits: [{ a: 'y' }],
      not: [{ a: 'x' }, { a: 1 }],
    },
    {
      name: 'anything but a prefix',
      pattern: { a: [{ 'anything-but': { prefix: 'x' } }] },
      fits: [{ a: 'yx' }],
      not: [{ a: 'xy' }, {}],
    },
    {
      name: 'one of several patterns',
      pattern: { $or: [{ a: [1] }, { b: [2] }], c: [3] },
      fits: [
        { a: 1, c: 3 },
        { b: 2, c: 3 },
      ],
      not: [{ a: 1 }, { c: 3 }],
    },
    {
      name: 'a field that is called like a method',
      pattern: { constructor: [{ exists: true }] },
      fits: [{ constructor: 1 }],
      not: [{}],
    },
  ])('$name', ({ pattern, fits, not }) => {
    const predicate = compilePattern(pattern)
    expect(fits.filter((event) => !predicate(event))).toEqual([])
    expect(not.filter((event) => predicate(event))).toEqual([])
  })

  test.each([
    ['a comparison nobody knows', { a: [{ like: 'x' }] }],
    ['two comparisons in one', { a: [{ prefix: 'x', suffix: 'y' }] }],
    ['an argument of the wrong kind', { a: [{ exists: 'yes' }] }],
    ['bounds in odd number', { a: [{ numeric: ['>'] }] }],
    ['no list', { a: 'x' }],
    ['an empty list', { a: [] }],
    ['$or without a list', { $or: { a: [1] } }],
  ])('%s is one sentence, before any event comes', (_, pattern) => {
    expect(() => compilePattern(pattern as never)).toThrow(/^Cannot use the event pattern because/)
  })
})
