import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { numbersOf } from '../../../engine/core/ranges.ts'
import {
  deliveriesOf,
  endOf,
  freeIn,
  MARK_CHARACTERS,
  markAfter,
  type QueueRecord,
  unsettledIn,
} from '../../../engine/core/record.ts'
import { decodeRecord, encodeEnded, encodeLock } from '../../../engine/core/stored-record.ts'
import { storedOf } from '../requests/an-update.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, range, tailOf } from './a-record.ts'

describe('A record', () => {
  it('comes back from its row as it was.', () => {
    const plain = (record: QueueRecord) => ({
      ...record,
      lanes: [...record.lanes].sort(([a], [b]) => a - b),
      locks: [...record.locks],
    })
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(plain(decodeRecord(storedOf(record)))).toEqual(plain(record))
      }),
    )
  })

  it('knows a claim by its count and the frontier that it met.', () => {
    const stored = storedOf(aRecord({ 3: aLane({ tail: tailOf(9), frontier: 7 }) }))
    const claimed = { ...stored, K: { claim: { x: later(5), p: 3, n: 4 } }, F: { claim: 3 } }
    expect(decodeRecord(claimed).locks.get('claim')).toEqual(aLock(later(5), at(3, 3, 7)))
  })

  it('remembers how locks ended, with their items.', () => {
    const ended = (['acknowledged', 'expired', 'released', 'dead-lettered', 'purged'] as const).map(
      (ending, n) => ({ lockId: `lock-id_00${n}`, ending, items: 10 ** n }),
    )
    const stored = { ...storedOf(aRecord()), e: encodeEnded(ended) }
    expect(decodeRecord(stored).ended).toEqual(ended)
    expect(decodeRecord(storedOf(aRecord())).ended).toEqual([])
  })

  it('keeps what its locks say of themselves, also what this engine does not know.', () => {
    const stored = storedOf(aRecord({ 3: aLane({ tail: tailOf(9), frontier: 7 }) }))
    const K = {
      claim: { x: later(5), p: 3, n: 4, s: 'c?' },
      retry: { x: later(5), r: [3, 0, 3], s: 'wo?' },
    }
    const { locks } = decodeRecord({ ...stored, K, F: { claim: 3 } })
    expect([...locks.values()].map(({ signs }) => signs)).toEqual(['c?', 'wo?'])
    expect([...locks.values()].map(encodeLock)).toEqual([
      { x: later(5), r: [3, 3, 7], s: 'c?' },
      K.retry,
    ])
  })
})

describe('A mark', () => {
  const marks = Array.from({ length: 16 }, (_, n) => `mark${String(n).padStart(2, '0')}`)
  const record = aRecord({}, { version: 100, marks: marks.join('') })
  const cases: readonly [string, number, string | undefined][] = [
    ['the last write', 99, 'mark15'],
    ['the write before', 98, 'mark14'],
    ['the sixteenth before', 84, 'mark00'],
    ['one that is forgotten', 83, undefined],
    ['one that never was', 100, undefined],
  ]
  it.each(cases)('tells %s.', (_, version, mark) => {
    expect(markAfter(record, version)).toBe(mark)
  })

  it('of a young record is not read past its beginning.', () => {
    expect(markAfter(aRecord({}, { version: 2, marks: 'aaaaaa' }), 0)).toBeUndefined()
    expect('mark00').toHaveLength(MARK_CHARACTERS)
  })
})

it('Free items are those that are stored, in no lock, not settled and not dead.', () => {
  const lane = aLane({
    head: 2,
    sealed: 6,
    tail: tailOf(6),
    frontier: 10,
    holes: [range(4, 5)],
    dead: [{ ...range(6, 7), reason: 'x' }],
    deliveries: [{ ...range(3, 5), count: 2 }],
  })
  const record = aRecord({ 0: lane }, { locks: new Map([['a', aLock(0, at(0, 8, 10))]]) })
  expect(endOf(lane)).toBe(12)
  expect([...numbersOf(freeIn(record, lane))]).toEqual([2, 3, 5, 7, 10, 11])
  expect([...numbersOf(unsettledIn(lane))]).toEqual([2, 3, 5, 6, 7, 8, 9, 10, 11])
  expect([2, 3, 4, 5].map((n) => deliveriesOf(lane, n))).toEqual([0, 2, 2, 0])
})
