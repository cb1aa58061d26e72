import { describe, expect, it } from 'vitest'
import type { Epoch } from '../../../rate/core/epoch.ts'
import { type RateRow, ttlSeconds } from '../../../rate/core/row.ts'
import { type Ask, planSlots } from '../../../rate/core/slots.ts'
import { slotUpdate } from '../../../rate/take-slots.ts'

/** 10 a window of a second; now is half a second into window 100, whose slots are 1000 … 1009. */

const NOW = 100_500
const rules = { algorithm: 'window', maxRequests: 10, windowMs: 1_000, burst: 1 } as const
const epoch: Epoch = { rules, revision: 0, configured: false, startMs: 0, generation: 0 }
const ask: Ask = { ...epoch, cost: 1, canWait: false, inLine: 20 }
const at = (cursor: number, atMs = 100_000): RateRow => ({
  epoch,
  cursor,
  atMs,
  giveUps: 0,
  overhang: 0,
  configuration: undefined,
})

describe('A write', () => {
  it.each<[string, RateRow | undefined, Partial<Ask>, string, number, [number, number]]>([
    ['of a row never seen begins the window', undefined, {}, 'set', 1_001, [0, 999]],
    ['of a window that is over begins this one', at(950), {}, 'set', 1_001, [0, 999]],
    ['of an open window adds blindly', at(1_004), {}, 'add', 1, [1_000, 1_009]],
    ['of a full window adds to the line', at(1_015), { canWait: true }, 'add', 1, [1_000, 1_029]],
    ['of three adds where three are left', at(1_004), { cost: 3 }, 'add', 3, [1_000, 1_007]],
    [
      'of three that wait skips what is left',
      at(1_018),
      { cost: 3, canWait: true },
      'set',
      1_023,
      [1_018, 1_019],
    ],
  ])('%s.', (_, row, more, kind, value, [min, max]) => {
    const decision = planSlots(row, { ...ask, ...more }, NOW)
    expect(decision).toMatchObject({
      kind: 'write',
      write: {
        atMs: 100_000,
        cursor: { kind, value },
        condition: { cursorMin: min, cursorMax: max, epochText: 'w10/1000~0@0+0' },
      },
    })
  })

  it('may make the row, unless it carries settings: then it is there.', () => {
    const orAbsent = (configured: boolean) => {
      const decision = planSlots(undefined, { ...ask, configured }, NOW)
      return decision.kind === 'write' && decision.write.condition.orAbsent
    }
    expect([orAbsent(false), orAbsent(true)]).toEqual([true, false])
  })

  it('of a slow clock is in the window that another’s has begun.', () => {
    const decision = planSlots(at(1_034, 103_000), ask, NOW)
    expect(decision).toMatchObject({
      write: { atMs: 103_000, condition: { cursorMin: 1_030, cursorMax: 1_039 } },
    })
  })

  it('of a window that others will have begun adds to it, cursor unseen.', () => {
    const decision = planSlots(at(950), { ...ask, cost: 3 }, NOW, { begun: true })
    expect(decision).toMatchObject({
      write: {
        cursor: { kind: 'add', value: 3 },
        condition: { cursorMin: 1_000, cursorMax: 1_007 },
      },
    })
  })

  it('under other rules names the row as it was seen, with the slack it needs.', () => {
    const other = { ...ask, rules: { ...rules, maxRequests: 20 } }
    const decision = planSlots(at(1_004), other, NOW, { slack: 4 })
    expect(decision).toMatchObject({
      write: {
        epoch: { startMs: 100_000, generation: 1 },
        cursor: { kind: 'set', value: 9 },
        overhang: 0,
        condition: { epochText: 'w10/1000~0@0+0', cursorMax: 1_008, atMs: 100_000 },
      },
    })
  })
})

describe('A denial', () => {
  it.each<[string, number, Partial<Ask>, number]>([
    ['of a full window is over with it', 1_010, {}, 101_000],
    ['of a window with others in line comes after theirs', 1_025, {}, 102_000],
    ['of more than is left', 1_008, { cost: 3 }, 101_000],
    ['of a full line opens with the next window', 1_030, { canWait: true }, 101_000],
  ])('%s.', (_, cursor, more, opensMs) => {
    expect(planSlots(at(cursor), { ...ask, ...more }, NOW)).toMatchObject({
      kind: 'denied',
      opensMs,
    })
  })

  it('is never because of the slack.', () => {
    const other = { ...ask, rules: { ...rules, maxRequests: 9 } }
    expect(planSlots(at(1_004), other, NOW, { slack: 64 })).toMatchObject({
      write: { cursor: { value: 5 }, condition: { cursorMax: 1_004 } },
    })
  })
})

describe('A row that nobody asks for', () => {
  it('is forgotten three windows after the last that was promised, by the slowest clock.', () => {
    const apart = 20
    const slow: Epoch = { ...epoch, rules: { ...rules, windowMs: 60_000 } }
    expect(ttlSeconds(slow, 0)).toBe(60 + 180 + apart)
    expect(ttlSeconds(slow, 29)).toBe(180 + 180 + apart)
  })

  it('is remembered for as long as any process remembers its settings.', () => {
    expect(ttlSeconds(epoch, 1_000)).toBe(101 + 30 + 20)
  })

  it('outlives whatever a blind write may promise.', () => {
    const decision = planSlots(at(1_015), { ...ask, canWait: true }, NOW)
    expect(decision).toMatchObject({ write: { ttl: ttlSeconds(epoch, 1_029) } })
  })

  it('stays if it carries settings.', () => {
    for (const row of [undefined, at(1_004), at(900)]) {
      const configured = { ...ask, configured: true }
      const decision = planSlots(
        row && { ...row, epoch: { ...epoch, configured: true } },
        configured,
        NOW,
      )
      expect(decision.kind === 'write' && decision.write.ttl).toBeUndefined()
    }
  })
})

describe('The request', () => {
  it('of a blind add is small, and names everything it depends on.', () => {
    const decision = planSlots(at(1_004), ask, NOW)
    if (decision.kind !== 'write') throw new Error('expected a write')
    expect(slotUpdate(decision.write)).toEqual({
      UpdateExpression: 'SET c=c+:0,t=:1,#0=:2',
      ConditionExpression: 'e=:3 AND t<=:4 AND c BETWEEN :5 AND :6',
      ExpressionAttributeNames: { '#0': 'ttl' },
      ExpressionAttributeValues: {
        ':0': 1,
        ':1': 100_000,
        ':2': 151,
        ':3': 'w10/1000~0@0+0',
        ':4': 100_000,
        ':5': 1_000,
        ':6': 1_009,
      },
    })
  })
})
