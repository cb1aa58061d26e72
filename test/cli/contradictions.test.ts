import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contradictionsIn } from '../../cli/doctor/check-record.ts'
import { encodeItem } from '../../engine/core/item.ts'
import { encodeScheduled, noneScheduled, scheduledBytes } from '../../engine/core/later.ts'
import { countOf } from '../../engine/core/ranges.ts'
import { inFlightOf, type Lane, type QueueRecord, unsettledIn } from '../../engine/core/record.ts'
import { encodeNote, noteBytes } from '../../engine/core/repeated-pushes.ts'
import {
  aLane,
  aLock,
  anEntry,
  anyRecord,
  aRecord,
  at,
  later,
  nowMs,
  range,
  tailOf,
} from '../engine/core/a-record.ts'

/** With the room and the weight that its lanes make. */
function counted(record: QueueRecord): QueueRecord {
  let unsettled = 0
  for (const lane of record.lanes.values()) unsettled += countOf(unsettledIn(lane))
  return { ...record, room: record.room - unsettled, inFlight: inFlightOf(record) }
}

const holding = (lane: Partial<Lane>, changes: Partial<QueueRecord> = {}): QueueRecord =>
  counted(aRecord({ 5: aLane({ tail: tailOf(10), frontier: 6, head: 1, ...lane }) }, changes))

const entry = encodeScheduled({
  due: 1_900_000_100,
  seals: 0,
  random: 'aaaaaaaa',
  priority: 0,
  gone: [],
  entry: anEntry(),
})
const scheduled = { ...noneScheduled, entries: [entry], items: 1, bytes: scheduledBytes(entry) }
const note = encodeNote({
  bodyHash: 'b'.repeat(22),
  pushedAtMs: nowMs,
  tag: 'tag1',
  ttlSeconds: 86_400,
  places: new Map([[5, { anchor: 'tag1', offset: 0 }]]),
})
const keyed = aRecord({}, { notes: new Map([['h'.repeat(22), note]]) })

describe('A record that is well contradicts itself nowhere', () => {
  test('whatever its lanes and locks are like', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(contradictionsIn(counted(record))).toEqual([])
      }),
    )
  })

  test.each<[string, QueueRecord]>([
    ['an item was taken out ahead of the frontier', holding({ holes: [range(8, 9)] })],
    ['the last item was', holding({ holes: [range(9, 10)] })],
    ['it has the note of a push with a key', { ...keyed, tailBytes: noteBytes(note) }],
    ['an item waits for its time', aRecord({}, { scheduled, checkAtMs: later(0) })],
    [
      'others wait in rows',
      aRecord({}, { scheduled: { ...scheduled, items: 9, nextDue: 1 }, checkAtMs: later(0) }),
    ],
  ])('although %s', (_, record) => {
    expect(contradictionsIn(record)).toEqual([])
  })
})

describe('A record contradicts itself', () => {
  const lock = (...stretches: Parameters<typeof aLock>[1][]) => ({
    locks: new Map([['lock-id_000', aLock(later(5), ...stretches)]]),
    checkAtMs: later(5),
  })
  test.each<[string, QueueRecord, RegExp]>([
    ['if its pointers are out of order', holding({ head: 7 }), /head 7, frontier 6 and end 10/],
    ['if the head is in a trimmed segment', holding({ trimmed: 1 }), /below 1 are trimmed/],
    [
      'if what is not sealed is in S3',
      holding({ offloaded: range(0, 1) }),
      /up to 1 are offloaded, and only 0/,
    ],
    [
      'if more is recalled than is in S3',
      holding({ sealed: 100, tail: [], frontier: 6, offloaded: range(0, 1), recalled: 2 }),
      /up to 2 are recalled/,
    ],
    ['if a hole is behind the head', holding({ holes: [range(1, 2)] }), /the hole 1–2/],
    ['if a hole is beyond the end', holding({ holes: [range(9, 11)] }), /the hole 9–11/],
    [
      'if holes overlap',
      holding({ holes: [range(3, 5), range(4, 6)] }),
      /holes: 3–5 and 4–6 overlap/,
    ],
    [
      'if dead items were never handed out',
      holding({ dead: [{ ...range(6, 7), reason: '' }] }),
      /the dead items 6–7/,
    ],
    [
      'if a dead item is settled',
      holding({ dead: [{ ...range(3, 5), reason: '' }], holes: [range(4, 5)] }),
      /dead and settled/,
    ],
    [
      'if a lock holds what was never handed out',
      holding({}, lock(at(5, 5, 7))),
      /never handed out/,
    ],
    ['if a lock holds items of no lane', holding({}, lock(at(4, 5, 6))), /never handed out/],
    ['if a lock holds what is settled', holding({}, lock(at(5, 0, 2))), /some of them are settled/],
    [
      'if two locks hold an item',
      holding({}, lock(at(5, 2, 4), at(5, 3, 5))),
      /two locks hold item 3/,
    ],
    [
      'if nobody looks when a lock ends',
      holding({}, { ...lock(at(5, 2, 4)), checkAtMs: later(6) }),
      /a lock ends before/,
    ],
    ['if it is dry and has something to pop', holding({}, { dry: true }), /marked as dry/],
    [
      'if it has an item with times and does not say so',
      holding({
        tail: [encodeItem({ text: '1', pushedAtMs: nowMs, dueMs: nowMs }, 'tag1')],
        frontier: 1,
      }),
      /has times of its own/,
    ],
    ['if it forgets the bytes of a note', { ...keyed, tailBytes: 0 }, /0 bytes of tails and notes/],
    ['if it miscounts its weight', { ...holding({}), inFlight: 3 }, /3 items in flight.* gives 0/],
    ['if it miscounts its room', { ...holding({}), room: 3 }, /3 room/],
    [
      'if it counts items for later that are nowhere',
      aRecord({}, { scheduled: { ...scheduled, items: 2 }, checkAtMs: later(0) }),
      /2 scheduled items, and a recount gives 1/,
    ],
    [
      'if it holds more of them than it counts',
      aRecord({}, { scheduled: { ...scheduled, items: 0, nextDue: 1 } }),
      /0 scheduled items, and a recount gives 1/,
    ],
    [
      'if it miscounts their bytes',
      aRecord({}, { scheduled: { ...scheduled, bytes: 1 }, checkAtMs: later(0) }),
      /1 bytes of scheduled entries/,
    ],
    ['if nobody looks when they are due', aRecord({}, { scheduled }), /nobody is to look/],
  ])('%s', (_, record, sentence) => {
    const told = contradictionsIn(record)
    expect(told).toContainEqual(expect.stringMatching(sentence))
  })
})
