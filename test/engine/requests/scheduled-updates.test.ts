import { expect, it } from 'vitest'
import { Expression } from '../../../aws/table.ts'
import { noneScheduled } from '../../../engine/core/later.ts'
import { recordUpdate } from '../../../engine/requests/blind-updates.ts'
import { take, takeKeptRoom } from '../../../engine/requests/later-rows.ts'
import { aLane, aRecord } from '../core/a-record.ts'
import { applied, storedOf } from './an-update.ts'

it('What joins or is cancelled leaves the record highest place first, because some stores take places away one after the other.', () => {
  const update = new Expression()
  const entries = Array.from({ length: 12 }, () => '')
  const taken = { places: [0, 2, 10], items: 3, bytes: 0, nextDue: undefined }
  take(update, { ...noneScheduled, entries, items: 12 }, taken)
  expect(update.removes).toEqual(['T[10]', 'T[2]', 'T[0]'])
})

it('Room that is kept for due items is taken out once: a join and a fenced write may both have seen it.', () => {
  const update = recordUpdate()
  takeKeptRoom(update, 2)
  const after = applied({ ...storedOf(aRecord({ 0: aLane() })), kr: 3 }, update.build())
  expect(after).toMatchObject({ kr: 1 })
  expect(() => applied(after, update.build())).toThrow('conditional')
})
