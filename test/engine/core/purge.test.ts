import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { purgeStep } from '../../../engine/core/named-items.ts'
import { countOf, normalised, subtract } from '../../../engine/core/ranges.ts'
import {
  endOf,
  isDone,
  itemsIn,
  type QueueRecord,
  unsettledIn,
} from '../../../engine/core/record.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, range, tailOf } from './a-record.ts'

function purged(record: QueueRecord, priority?: number) {
  let [draft, items, finished, steps] = [record, 0, false, 0]
  while (!finished) {
    const step = purgeStep(draft, priority, nowMs)
    draft = step.draft
    items += step.items
    finished = step.finished
    steps += 1
    if (steps > 200) throw new Error('It does not end')
  }
  return { draft, items, steps }
}

const alive = (record: QueueRecord, priority?: number): number =>
  [...record.lanes].reduce((sum, [p, lane]) => {
    if (priority !== undefined && p !== priority) return sum
    return sum + countOf(subtract(unsettledIn(lane), normalised(lane.dead)))
  }, 0)

describe('A purge', () => {
  it('moves head and frontier to the end, and drops the locks.', () => {
    const locks = new Map([['a', aLock(later(5), at(0, 1, 3))]])
    const lane = aLane({ sealed: 5, tail: tailOf(4), frontier: 3, head: 1 })
    const { draft, items, steps } = purged(aRecord({ 0: lane }, { locks }))
    expect([items, steps]).toEqual([8, 1])
    expect(draft.lanes.get(0)).toMatchObject({ head: 9, frontier: 9, holes: [] })
    expect(draft.ended).toEqual([{ lockId: 'a', ending: 'purged', items: 2 }])
  })

  it('of one priority shrinks the locks that reach into it.', () => {
    const locks = new Map([['a', aLock(later(5), at(0, 0, 2), at(3, 0, 1))]])
    const lane = aLane({ tail: tailOf(4), frontier: 2 })
    const record = aRecord({ 0: lane, 3: lane }, { locks })
    const { draft, items } = purged(record, 0)
    expect(items).toBe(4)
    expect(draft.locks.get('a')?.stretches).toEqual([at(3, 0, 1)])
    expect(draft.lanes.get(3)).toBe(record.lanes.get(3))
  })

  it('leaves what is dead, and does not count what was acknowledged.', () => {
    const locks = new Map([['a', aLock(0, at(0, 2, 4))]])
    const dead = [{ ...range(0, 2), reason: 'x' }]
    const { draft, items } = purged(
      aRecord({ 0: aLane({ tail: tailOf(6), frontier: 4, dead }) }, { locks }),
    )
    expect(items).toBe(2)
    expect(draft.lanes.get(0)).toMatchObject({ head: 0, frontier: 6, dead })
  })

  it('of nothing changes nothing.', () => {
    const record = aRecord({ 0: aLane() })
    expect(purgeStep(record, undefined, nowMs)).toEqual({ draft: record, items: 0, finished: true })
  })

  it('takes everything that was there, counted once, whatever the record.', () => {
    fc.assert(
      fc.property(anyRecord, fc.option(fc.nat(20), { nil: undefined }), (record, priority) => {
        const { draft, items } = purged(record, priority)
        const done = [...record.locks.values()]
          .filter((lock) => isDone(lock))
          .map(({ stretches }) =>
            stretches.filter((s) => priority === undefined || s.priority === priority),
          )
          .reduce((sum, stretches) => sum + itemsIn(stretches), 0)
        expect(items).toBe(alive(record, priority) - done)
        expect(alive(draft, priority)).toBe(0)
        for (const [p, lane] of draft.lanes) {
          if (priority === undefined && lane.dead.length === 0) expect(lane.head).toBe(endOf(lane))
          if (priority === undefined || priority === p) continue
          expect(endOf(lane)).toBe(endOf(record.lanes.get(p) ?? lane))
        }
      }),
    )
  })
})
