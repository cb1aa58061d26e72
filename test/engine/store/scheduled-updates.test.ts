import { expect, it } from 'vitest'
import { noneScheduled } from '../../../lambdas/engine/core/scheduled.ts'
import { take } from '../../../lambdas/engine/store/scheduled-updates.ts'
import { Expression } from '../../../lambdas/foundation/expression.ts'

it('What joins or is cancelled leaves the record highest place first, because some stores take places away one after the other.', () => {
  const update = new Expression()
  const entries = Array.from({ length: 12 }, () => '')
  const taken = { places: [0, 2, 10], items: 3, bytes: 0, nextDue: undefined }
  take(update, { ...noneScheduled, entries, items: 12 }, taken)
  expect(update.removes).toEqual(['T[10]', 'T[2]', 'T[0]'])
})
