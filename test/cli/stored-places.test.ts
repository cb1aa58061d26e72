import { expect, it } from 'vitest'
import { placesOf, statsLines } from '../../cli/commands/stats.ts'

it('Numbers whose place the record does not know are shown as unknown.', () => {
  const stored = [
    { from: 100, to: 300, in: 'batch-s3' },
    { from: 900, to: 1_000, in: 'rows' },
    { from: 1_000, to: 1_050, in: 'batch-s3' },
  ] as const
  expect(placesOf({ head: 100, end: 1_050, stored })).toBe('batch-s3 250, rows 100, unknown 600')
  expect(placesOf({ head: 900, end: 1_050, stored: stored.slice(1) })).toBe('rows 100, batch-s3 50')
})

it('The table shows when the next item for later is due, or for how long it has been due.', () => {
  const state = {
    ...{ queue: 'q', version: 1, count: 0, lockedCount: 0, waitingCount: 0, deadCount: 0 },
    ...{ scheduledCount: 2_000, lanes: [], locks: [] },
  }
  const [, ahead, past] = statsLines(
    [
      { ...state, nextDueMs: 5_000_000 },
      { ...state, nextDueMs: 820_000 },
    ],
    1_000_000,
  )
  expect(ahead).toMatch(/^q +0 +2,000 +in 1 h$/)
  expect(past).toMatch(/^q +0 +2,000 +3 min ago$/)
})
