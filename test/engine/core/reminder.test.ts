import { describe, expect, it } from 'vitest'
import { announced, dueMs, remind, waitsForSomebody } from '../../../engine/core/fence.ts'
import type { QueueRecord } from '../../../engine/core/record.ts'
import { aLane, aLock, aRecord, at, later, nowMs, tailOf } from './a-record.ts'

const MINUTE_MS = 60_000
const AFTER_MS = 5 * MINUTE_MS

const waiting = aRecord({ 0: aLane({ tail: tailOf(3), frontier: 1, head: 1 }) })
const lookedAt = (ms: number, times = 0, taken = 1): QueueRecord => ({
  ...waiting,
  reminder: { times, taken, sinceMs: later(ms) },
})
const withLock = (expiresAtMs: number): QueueRecord => ({
  ...lookedAt(-MINUTE_MS),
  locks: new Map([['one', aLock(expiresAtMs, at(0, 1, 2))]]),
})

describe('A visit of the sweeper', () => {
  const cases: readonly [string, QueueRecord, QueueRecord['reminder']][] = [
    ['remembers what was taken so far', waiting, { times: 0, taken: 1, sinceMs: nowMs }],
    ['too soon changes nothing', lookedAt(-AFTER_MS + 1), lookedAt(-AFTER_MS + 1).reminder],
    [
      'announces what nobody took in time',
      lookedAt(-AFTER_MS),
      { times: 1, taken: 1, sinceMs: nowMs },
    ],
    [
      'begins anew where somebody took something',
      lookedAt(-AFTER_MS, 3, 0),
      { times: 0, taken: 1, sinceMs: nowMs },
    ],
    ['forgets about it where somebody has a lock', withLock(later(9)), undefined],
    ['forgets about it where a lock is over that nobody has ended', withLock(later(-9)), undefined],
    ['goes on where locks are acknowledged', withLock(0), withLock(0).reminder],
    [
      'forgets about it where nothing is free',
      { ...lookedAt(-AFTER_MS), lanes: new Map() },
      undefined,
    ],
  ]
  it.each(cases)('%s.', (_, record, expected) => {
    expect(remind(record, nowMs, AFTER_MS).reminder).toEqual(expected)
  })

  it('comes after twice as long each time, and every hour at last.', () => {
    const minutes = Array.from({ length: 7 }, (_, times) => {
      const reminder = { times, taken: 1, sinceMs: nowMs }
      return (dueMs(reminder, AFTER_MS) - nowMs) / MINUTE_MS
    })
    expect(minutes).toEqual([5, 10, 20, 40, 60, 60, 60])
  })

  it('leaves the record as it is if there is nothing to note.', () => {
    for (const record of [aRecord(), lookedAt(-1)]) {
      expect(remind(record, nowMs, AFTER_MS)).toBe(record)
    }
  })
})

it('An announcement by hand comes whenever the last one was, and begins with the shortest pause.', () => {
  const { reminder } = announced(lookedAt(-1, 6), nowMs)
  expect(reminder).toEqual({ times: 1, taken: 1, sinceMs: nowMs })
})

it('A queue waits for a consumer while it has free items and no lock shows one at work.', () => {
  expect(waitsForSomebody(waiting)).toBe(true)
  expect(waitsForSomebody(withLock(0))).toBe(true)
  expect(waitsForSomebody(withLock(later(9)))).toBe(false)
  expect(waitsForSomebody(aRecord())).toBe(false)
})
