import { expect, it } from 'vitest'
import { placesOf } from '../../cli/stats/show.ts'

it('What the record leaves out of its stretches is shown as unknown.', () => {
  const stored = [
    { from: 100, to: 300, in: 'batch-s3' },
    { from: 900, to: 1_000, in: 'rows' },
    { from: 1_000, to: 1_050, in: 'batch-s3' },
  ] as const
  expect(placesOf({ head: 100, end: 1_050, stored })).toBe('batch-s3 250, rows 100, unknown 600')
  expect(placesOf({ head: 900, end: 1_050, stored: stored.slice(1) })).toBe('rows 100, batch-s3 50')
})
