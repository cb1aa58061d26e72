import { describe, expect, it } from 'vitest'
import { itemId } from '../../../engine/core/keys.ts'
import { endPart, type PartialEnding } from '../../../engine/core/locks.ts'
import type { QueueRecord } from '../../../engine/core/record.ts'
import { aLane, aLock, aRecord, at, later, nowMs, range } from './a-record.ts'

const lock = aLock(later(9), at(0, 0, 4), at(3, 1, 3))
const lane = (epoch: string) => aLane({ epoch, sealed: 20, frontier: 8 })
const record: QueueRecord = aRecord(
  { 0: lane('epoch_00'), 3: lane('epoch_03') },
  { locks: new Map([['mine', lock]]) },
)
const id = (priority: number, sequence: number): string =>
  itemId({ epoch: `epoch_0${priority}`, priority, sequence })
const end = (ids: string[], ending: PartialEnding = 'acknowledged', of = record, held = lock) =>
  endPart(of, 'mine', held, ids, { ending, reason: 'why' }, nowMs)

describe('Ending a part of a lock', () => {
  it('settles its items, and leaves the others locked.', () => {
    const { draft, items } = end([id(0, 1), id(3, 2)])
    expect(items).toBe(2)
    expect(draft.lanes.get(0)?.holes).toMatchObject([range(1, 2)])
    expect(draft.locks.get('mine')?.stretches).toEqual([at(0, 0, 1), at(0, 2, 4), at(3, 1, 2)])
    expect(draft.locks.get('mine')?.expiresAtMs).toBe(lock.expiresAtMs)
  })

  it('gives back or buries its items alone.', () => {
    const released = end([id(0, 3)], 'released').draft
    expect(released.lanes.get(0)?.deliveries).toMatchObject([{ ...range(3, 4), count: 1 }])
    const dead = end([id(0, 3)], 'dead-lettered').draft
    expect(dead.lanes.get(0)?.dead).toMatchObject([{ ...range(3, 4), reason: 'why' }])
    expect(dead.ended).toEqual([])
  })

  it('that is all of it ends the lock.', () => {
    const all = [0, 1, 2, 3].map((n) => id(0, n))
    const { draft, items } = end([...all, id(3, 1), id(3, 2)])
    expect(items).toBe(6)
    expect(draft.locks.size).toBe(0)
    expect(draft.ended.at(-1)).toMatchObject({ lockId: 'mine', ending: 'acknowledged' })
  })

  it('that was acknowledged before counts again, and changes nothing.', () => {
    const first = end([id(0, 1), id(3, 2)]).draft
    const held = first.locks.get('mine')
    if (held === undefined) throw new Error('unreachable')
    const again = end([id(0, 1), id(3, 2)], 'acknowledged', first, held)
    expect(again).toEqual({ draft: first, items: 2 })
    const mixed = end([id(0, 1), id(0, 2)], 'acknowledged', first, held)
    expect(mixed.items).toBe(2)
    expect(mixed.draft.lanes.get(0)?.holes).toMatchObject([range(1, 3)])
  })

  const refused: readonly [string, string[], PartialEnding][] = [
    ['is free', [id(0, 9)], 'acknowledged'],
    ['is in another lock', [id(0, 5)], 'acknowledged'],
    ['was never pushed', [id(0, 500)], 'acknowledged'],
    [
      'is of another time',
      [itemId({ epoch: 'epoch_99', priority: 0, sequence: 1 })],
      'acknowledged',
    ],
    ['is no id', ['x'], 'acknowledged'],
    ['is not in it, among others that are', [id(0, 1), id(0, 5)], 'released'],
  ]
  it.each(refused)('is refused when one of them %s.', (_, ids, ending) => {
    expect(() => end(ids, ending)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETER' }))
  })

  it('is refused for what was settled, unless it is acknowledged again.', () => {
    const first = end([id(0, 1)]).draft
    const held = first.locks.get('mine')
    if (held === undefined) throw new Error('unreachable')
    expect(() => end([id(0, 1)], 'released', first, held)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER' }),
    )
  })

  it('may name items of a lane that is gone: they were settled with it.', () => {
    const gone = { ...record, lanes: new Map([...record.lanes].slice(0, 1)) }
    expect(end([id(0, 0), id(3, 9)], 'acknowledged', gone).items).toBe(2)
  })
})
