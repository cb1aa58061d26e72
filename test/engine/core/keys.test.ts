import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  batchObjectKey,
  batchPartKey,
  chunkSortKey,
  itemId,
  parseChunkSortKey,
  parseItemId,
  queueOfRecordKey,
  recalledSortKey,
  receiptKey,
  recordKey,
  recordPrefix,
  segmentObjectKey,
  segmentPartition,
  shardOf,
} from '../../../engine/core/keys.ts'
import { PRIORITY_MAX, SHARDS } from '../../../engine/core/limits.ts'
import {
  deadLetterQueueOf,
  isDeadLetterQueue,
  isQueueId,
  originOf,
} from '../../../shared/bounds.ts'
import { fnv1a } from '../../../shared/system.ts'

describe('A queue id', () => {
  const cases: readonly [unknown, boolean][] = [
    ['a', true],
    ['Orders_2.eu-west', true],
    ['q'.repeat(100), true],
    ['q'.repeat(101), false],
    [`${'q'.repeat(100)}-deadletter`, true],
    [`${'q'.repeat(101)}-deadletter`, false],
    ['-deadletter', true],
    ['.-deadletter', false],
    ['..-deadletter', false],
    ['...', true],
    ['.', false],
    ['..', false],
    ['', false],
    ['a b', false],
    ['a/b', false],
    ['a#b', false],
    ['a\n', false],
    ['ä', false],
    [undefined, false],
    [7, false],
  ]
  it.each(cases)('%j is one: %s.', (id, expected) => {
    expect(isQueueId(id)).toBe(expected)
  })

  it('of a dead-letter queue leads back to where its items came from.', () => {
    expect(deadLetterQueueOf('orders')).toBe('orders-deadletter')
    expect(originOf('orders-deadletter')).toBe('orders')
    expect(isDeadLetterQueue('orders-deadletter')).toBe(true)
    expect(isDeadLetterQueue('orders')).toBe(false)
    expect(isDeadLetterQueue('-deadletter')).toBe(false)
  })
})

it('Keys are spelled as the architecture page shows them.', () => {
  expect(recordKey('orders')).toEqual({ pk: 'q#orders', sk: 'queue' })
  expect(queueOfRecordKey(recordKey('orders').pk)).toBe('orders')
  expect(recordKey('orders').pk.startsWith(recordPrefix('ord'))).toBe(true)
  expect(segmentPartition('orders', 'x7Gh2kQz', 0, 3)).toBe('s#orders#x7Gh2kQz#0#3')
  expect(chunkSortKey(300, 308)).toBe('000000000300-000000000308')
  expect(recalledSortKey(300, 400)).toBe('r000000000300-000000000400')
  expect(batchPartKey('orders', 'Ax81kQz0', 2)).toEqual({
    pk: 'b#orders#Ax81kQz0',
    sk: '000000000002',
  })
  expect(receiptKey('orders', 'hash')).toEqual({ pk: 'i#orders#hash', sk: 'receipt' })
  expect(segmentObjectKey('orders', 'x7Gh2kQz', 0, 3)).toBe('orders/x7Gh2kQz/0/3')
  expect(batchObjectKey('orders', 'Ax81kQz0')).toBe('orders/batch/Ax81kQz0')
})

const sequences = fc.integer({ min: 0, max: 999_999_999_999 })
const epochs = fc.stringMatching(/^[A-Za-z0-9_~]{8}$/)

describe('Sort keys', () => {
  it('are read back as they were written.', () => {
    fc.assert(
      fc.property(sequences, sequences, (from, to) => {
        expect(parseChunkSortKey(chunkSortKey(from, to))).toEqual({ from, to, recalled: false })
        expect(parseChunkSortKey(recalledSortKey(from, to))).toEqual({ from, to, recalled: true })
      }),
    )
  })

  it('are in the order of their numbers.', () => {
    fc.assert(
      fc.property(sequences, sequences, (a, b) => {
        expect(chunkSortKey(a, a + 1) < chunkSortKey(b, b + 1)).toBe(a < b)
        expect(batchPartKey('q', 'b', a).sk < batchPartKey('q', 'b', b).sk).toBe(a < b)
      }),
    )
  })
})

describe('An item id', () => {
  const priorities = fc.integer({ min: 0, max: PRIORITY_MAX })
  it('is read back as it was written, and has one spelling.', () => {
    fc.assert(
      fc.property(epochs, priorities, sequences, (epoch, priority, sequence) => {
        const place = { epoch, priority, sequence }
        expect(parseItemId(itemId(place))).toEqual(place)
        expect(parseItemId(`${itemId(place)} `)).toBeUndefined()
      }),
    )
  })

  it('that is none is none, whatever it is.', () => {
    const nearly = ['', 'x7Gh2kQz-0', 'x7Gh2kQz-00-1', 'x7Gh2kQz-0-01', 'x7Gh2kQz-zzzzzz-1']
    for (const id of [...nearly, 'x7Gh2kQz-0-1-2', undefined, null, 7, {}]) {
      expect(parseItemId(id)).toBeUndefined()
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        const place = parseItemId(text)
        expect(place === undefined || itemId(place) === text).toBe(true)
      }),
    )
  })
})

describe('FNV-1a', () => {
  // From draft-eastlake-fnv, 32 bits.
  const vectors: readonly [string, number][] = [
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['b', 0xe70c2de5],
    ['foobar', 0xbf9cf968],
    ['chongo was here!\n', 0xd49930d5],
  ]
  it.each(vectors)('of %j is as published.', (text, hash) => {
    expect(fnv1a(text)).toBe(hash)
  })

  it('spreads queues over all shards.', () => {
    const shards = new Set(Array.from({ length: 500 }, (_, index) => shardOf(`queue-${index}`)))
    expect(shards).toEqual(new Set(Array.from({ length: SHARDS }, (_, shard) => shard)))
  })
})
