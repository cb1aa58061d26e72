import { describe, expect, it } from 'vitest'
import { appendOf, withGuards } from '../../../engine/core/append.ts'
import { hashOf } from '../../../engine/core/keys.ts'
import {
  LANES_MAX,
  NOTE_MARKS_KEPT,
  PRIORITIES_PER_PUSH_MAX,
  PRIORITY_MAX,
  ROOMY_TAIL,
} from '../../../engine/core/limits.ts'
import { newLane } from '../../../engine/core/record.ts'
import { markOf } from '../../../engine/core/repeated-pushes.ts'
import { decodeRecord } from '../../../engine/core/stored-record.ts'
import { appendUpdate, newRecord } from '../../../engine/requests/append-update.ts'
import { aLane, anEntry, aRecord, later, nowMs, tailOf } from '../core/a-record.ts'
import { applied, expectPlaceholdersUsed, expectWithinLimits, storedOf } from './an-update.ts'

const lanes = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [PRIORITY_MAX - n, aLane({ tail: tailOf(2) })]),
  )
const toAll = (count: number) =>
  appendOf(new Map(Array.from({ length: count }, (_, n) => [PRIORITY_MAX - n, [anEntry()]])))

describe('An append', () => {
  const record = aRecord({ 0: aLane({ tail: tailOf(2) }), 5: aLane() })
  const append = appendOf(new Map([[0, [anEntry('"a"'), anEntry('"b"')]]]))

  it('adds to the end of its lanes, blind, and counts.', () => {
    const stored = storedOf(record)
    const built = appendUpdate(append, ROOMY_TAIL)
    expect(built.ConditionExpression).not.toMatch(/\b(v|born)=/)
    const after = applied(stored, built)
    expect(after.L[0]?.t).toEqual([...tailOf(2), anEntry('"a"'), anEntry('"b"')])
    expect(after).toMatchObject({
      v: stored.v,
      a: stored.a + 1,
      b: stored.b + append.bytes,
      room: stored.room - 2,
    })
  })

  it('makes a lane that is missing, and only then.', () => {
    const one = appendOf(new Map([[9, [anEntry()]]]))
    const newLanes = new Map([
      [9, newLane({ priority: 9, epoch: 'epoch_09', segmentSize: 50 }, [anEntry()])],
    ])
    const built = appendUpdate(one, ROOMY_TAIL, { newLanes })
    const after = decodeRecord(applied(storedOf(record), built))
    expect(after.lanes.get(9)).toEqual(newLanes.get(9))
    expect(after.lanesMade).toBe(record.lanesMade + 1)
    expect(() => applied(applied(storedOf(record), built), built)).toThrow('conditional')
    expect(() => applied(storedOf(record), appendUpdate(one, ROOMY_TAIL))).toThrow('conditional')
    expect(() => applied(storedOf(aRecord(lanes(LANES_MAX))), built)).toThrow('conditional')
  })

  it('fails for a full tail and for a full queue, and not for room when it needs none.', () => {
    const stored = storedOf(record)
    const full = { ...stored, b: ROOMY_TAIL.hardBytes - append.bytes + 1 }
    expect(() => applied(full, appendUpdate(append, ROOMY_TAIL))).toThrow('conditional')
    const noRoom = { ...stored, room: 1 }
    expect(() => applied(noRoom, appendUpdate(append, ROOMY_TAIL))).toThrow('conditional')
    expect(applied(noRoom, appendUpdate(append, ROOMY_TAIL, { anyway: true })).room).toBe(-1)
  })

  it('stays within the limits with as many lanes as it may name.', () => {
    const many = toAll(PRIORITIES_PER_PUSH_MAX)
    const newLanes = new Map(
      [...many.lanes].map(([p, tail]) => [
        p,
        newLane({ priority: p, epoch: 'epoch_00', segmentSize: 9 }, tail),
      ]),
    )
    for (const options of [{}, { newLanes }]) {
      const built = appendUpdate(many, ROOMY_TAIL, options)
      expectWithinLimits(built)
      expectPlaceholdersUsed(built)
    }
  })
})

describe('An append of pushes with keys', () => {
  const sequence = { first: '1'.padStart(40, '0'), last: '9'.padStart(40, '0') }
  const cases: readonly [string, { lanes: number; keys: number; isMarked: boolean }][] = [
    ['one key and as many lanes as a push may have', { lanes: 100, keys: 1, isMarked: false }],
    ['the same, where its mark has left', { lanes: 100, keys: 1, isMarked: true }],
    ['as many keys and lanes as go together', { lanes: 40, keys: 25, isMarked: false }],
    ['the same, where the mark of one has left', { lanes: 40, keys: 25, isMarked: true }],
  ]
  it.each(cases)('stays within the limits with %s.', (_, { lanes: count, keys, isMarked }) => {
    const hashes = Array.from({ length: keys }, (_, n) => hashOf('queue', `${n}`))
    const notes = new Map(hashes.map((hash) => [hash, 'a note']))
    const marks = isMarked ? markOf(hashes.at(-1) as string).repeat(NOTE_MARKS_KEPT) : ''
    const record = aRecord(lanes(count), { moved: { forgotten: 1_000_000, marks } })
    const append = withGuards(toAll(count), notes, sequence)
    const built = appendUpdate(append, ROOMY_TAIL, { newBy: record, remindAtMs: nowMs })
    expectWithinLimits(built)
    expectPlaceholdersUsed(built)
    const after = decodeRecord(applied(storedOf(record), built))
    expect(after).toMatchObject({ notes, sequence: sequence.last })
    expect(() => applied(storedOf(after), built)).toThrow('conditional')
  })
})

describe('The timer of what waits', () => {
  const append = appendOf(new Map([[0, [anEntry('"a"')]]]))
  const built = appendUpdate(append, ROOMY_TAIL, { remindAtMs: later(300_000) })
  const cases: readonly [string, number | undefined, number][] = [
    ['is started by an append that meets none', undefined, later(300_000)],
    ['is left as it is where it comes sooner', later(5), later(5)],
    ['is left as it is where it comes later', later(900_000), later(900_000)],
  ]
  it.each(cases)('%s.', (_, checkAtMs, expected) => {
    const record = aRecord({ 0: aLane() }, { checkAtMs })
    expect(decodeRecord(applied(storedOf(record), built)).checkAtMs).toBe(expected)
  })

  it('is no business of an append without items, nor of one that announces nothing.', () => {
    const nothing = appendOf(new Map([[0, []]]))
    for (const update of [
      appendUpdate(nothing, ROOMY_TAIL, { remindAtMs: nowMs }),
      appendUpdate(append, ROOMY_TAIL),
    ]) {
      expect(update.UpdateExpression).not.toContain('checkAt')
    }
  })
})

it('A queue’s first record is decoded to what was pushed.', () => {
  const append = appendOf(new Map([[4, [anEntry('"a"')]]]))
  const made = new Map([
    [4, newLane({ priority: 4, epoch: 'epoch_04', segmentSize: 50 }, [anEntry('"a"')])],
  ])
  const record = decodeRecord(newRecord('orders', 'born_000', 'mark00', made, append))
  expect(record).toMatchObject({ queue: 'orders', version: 1, born: 'born_000', marks: 'mark00' })
  expect(record).toMatchObject({ appends: 1, lanesMade: 1, tailBytes: append.bytes, lanes: made })
})
