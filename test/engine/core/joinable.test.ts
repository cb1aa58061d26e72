import { describe, expect, it } from 'vitest'
import { scheduledSortKey } from '../../../engine/core/keys.ts'
import { encodeScheduled, noneScheduled } from '../../../engine/core/later.ts'
import { rowsToTakeBack } from '../../../engine/core/plan-join.ts'
import { aLane, anEntry, aRecord, nowMs } from './a-record.ts'

const second = nowMs / 1_000 - 10

/** A row of so many items; only priority 0 has a lane. */
const aRow = (due: number, seal: number, items = 1, priority = 5_000) => ({
  sk: scheduledSortKey(due, seal),
  due,
  entries: Array.from({ length: items }, (_, n) =>
    encodeScheduled({
      due,
      seals: seal - 1,
      random: `${seal}`.padStart(4, '0') + `${n}`.padStart(4, '0'),
      priority,
      gone: [],
      entry: anEntry(),
    }),
  ),
})

type Rows = readonly ReturnType<typeof aRow>[]

const takenBack = (
  rows: Rows,
  { more = false, unseen = [] }: { readonly more?: boolean; readonly unseen?: string[] } = {},
) => {
  const record = aRecord({ 0: aLane() }, { scheduled: { ...noneScheduled, unseen } })
  return rowsToTakeBack(record, { rows, more }, nowMs).map(({ sk }) => sk)
}

const keysOf = (rows: Rows) => rows.map(({ sk }) => sk)

describe('Of rows whose items find no lane, those of one second go back to the record', () => {
  it('together, as far as they fit.', () => {
    const rows = [
      aRow(second, 1),
      aRow(second, 2),
      aRow(second + 1, 1, 12),
      aRow(second + 1, 2, 12),
    ]
    expect(takenBack(rows)).toEqual(keysOf(rows.slice(0, 2)))
  })

  it('or not at all, if they do not fit.', () => {
    expect(takenBack([aRow(second, 1, 12), aRow(second, 2, 12)])).toEqual([])
  })

  it('with a later one of which some items have a lane, but not if the first has such items.', () => {
    const [without, withLane] = [aRow(second, 1), aRow(second, 2, 1, 0)]
    expect(takenBack([without, withLane])).toEqual(keysOf([without, withLane]))
    expect(takenBack([withLane, aRow(second, 3)])).toEqual([])
  })

  it('not while the next page may have more of them.', () => {
    const rows = [aRow(second, 1), aRow(second + 1, 1)]
    expect(takenBack(rows, { more: true })).toEqual(keysOf(rows.slice(0, 1)))
  })

  it('not while one of them cannot be read yet.', () => {
    const rows = [aRow(second, 1), aRow(second + 1, 1)]
    const unseen = [scheduledSortKey(second + 1, 2)]
    expect(takenBack(rows, { unseen })).toEqual(keysOf(rows.slice(0, 1)))
  })
})
