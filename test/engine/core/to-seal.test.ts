import { describe, expect, it } from 'vitest'
import { encodeScheduled, noneScheduled } from '../../../engine/core/later.ts'
import { SEALS_BEHIND_MAX } from '../../../engine/core/limits.ts'
import {
  placesAlong,
  placesToSeal,
  ROWS_PER_SEAL,
  SEALS_OF_ID,
} from '../../../engine/core/plan-seal.ts'
import { aLane, anEntry, aRecord, nowMs } from './a-record.ts'

const nowSecond = nowMs / 1_000

type Given = { readonly due?: number; readonly priority?: number; readonly seals?: number }

const entriesOf = (given: readonly Given[]): string[] =>
  given.map(({ due = nowSecond + 9, priority = 0, seals = 0 }, n) =>
    encodeScheduled({
      due,
      seals,
      random: String(n).padStart(8, '0'),
      priority,
      gone: [],
      entry: anEntry(),
    }),
  )

const holding = (given: readonly Given[], { seals = 0 } = {}) =>
  aRecord(
    { 0: aLane() },
    {
      scheduled: { ...noneScheduled, entries: entriesOf(given), items: given.length, seals },
    },
  )

describe('A seal takes', () => {
  it('as many seconds as a transaction has room for, each of them whole, and the rest the next time.', () => {
    const seconds = Array.from({ length: 114 }, (_, n) => ({ due: nowSecond + 9 + n }))
    const places = placesToSeal(holding([...seconds, ...seconds]))
    expect(places).toHaveLength(2 * ROWS_PER_SEAL)
    expect(places.at(-1)).toBe(114 + ROWS_PER_SEAL - 1)
  })
})

it('A seal takes no entry whose id would not lead to its row, nor others of its second and priority.', () => {
  const seals = SEALS_OF_ID + 1
  const [old, young] = [
    { due: 7, seals: 1 },
    { due: 7, seals },
  ]
  const given = [old, young, { ...young, priority: 1 }, { ...young, due: 8 }]
  expect(placesToSeal(holding(given, { seals }))).toEqual([2, 3])
})

describe('A move takes along', () => {
  it('the entries of its seconds, apart from those whose ids would not lead to its row.', () => {
    const seals = SEALS_OF_ID + 1
    const { scheduled } = holding(
      [
        { due: 7, seals: 1 },
        { due: 7, seals: 2 },
        { due: 8, seals: 2 },
        { due: 9, seals: 2 },
      ],
      { seals },
    )
    const [first, , third] = scheduled.entries
    expect(placesAlong(scheduled, scheduled.entries, new Set([7, 9]))).toEqual([1, 3])
    expect(placesAlong(scheduled, [first, undefined, third], new Set([7, 8]))).toEqual([2])
    expect(SEALS_OF_ID).toBeGreaterThan(SEALS_BEHIND_MAX)
  })
})
