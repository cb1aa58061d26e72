import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Epoch,
  epochText,
  fittingPosition,
  floorAt,
  lastInLineAt,
  lastOpenAt,
  naturalEpoch,
  opensMs,
  overMs,
  parseEpoch,
  placeInLine,
  remainingAt,
  turnMs,
  widthOf,
} from '../../../rate/core/epoch.ts'

const window: Epoch = {
  rules: { algorithm: 'window', maxRequests: 10, windowMs: 1_000, burst: 1 },
  revision: 0,
  configured: false,
  startMs: 5_000,
  generation: 1,
}
const smooth: Epoch = {
  ...window,
  rules: { algorithm: 'smooth', maxRequests: 10, windowMs: 1_000, burst: 3 },
}

describe('Windows of 10 a second from 5,000:', () => {
  it.each([
    [0, 5_000],
    [9, 5_000],
    [10, 6_000],
    [19, 6_000],
    [1_000_000, 100_005_000],
  ])('slot %i has its turn at %i.', (slot, turn) => {
    expect(turnMs(window, slot, 1)).toBe(turn)
    expect(overMs(window, slot, 1)).toBe(turn + 1_000)
  })

  it.each([
    [4_999, 0, -1, 'before the first, nothing is open'],
    [5_000, 0, 9, 'the first window'],
    [5_999, 0, 9, 'its last moment'],
    [6_000, 10, 19, 'the next'],
  ])('at %i the floor is %i and the last open slot %i: %s.', (now, floor, last) => {
    expect(floorAt(window, now)).toBe(floor)
    expect(lastOpenAt(window, now, 1)).toBe(last)
    expect(lastOpenAt(window, now, 4)).toBe(last - 3)
    expect(lastInLineAt(window, now, 1, 400)).toBe(last + 400)
  })

  it.each([
    [7, 3, 7, 'the last three'],
    [8, 3, 10, 'two are left'],
    [10, 10, 10, 'a whole window'],
    [11, 10, 20, 'the next whole window'],
  ])('from %i on, a request of %i begins at %i: %s.', (cursor, cost, position) => {
    expect(fittingPosition(window, cursor, cost)).toBe(position)
  })

  it.each([
    [0, 5_500, 10],
    [4, 5_500, 6],
    [10, 5_500, 0],
    [12, 5_500, 0],
    [12, 6_500, 8],
    [3, 9_000, 10],
  ])('with the cursor at %i, at %i there remain %i.', (cursor, now, remaining) => {
    expect(remainingAt(window, cursor, now)).toBe(remaining)
  })

  it('counts the line from what is open.', () => {
    expect(placeInLine(window, 9, 1, 5_500)).toBe(0)
    expect(placeInLine(window, 10, 1, 5_500)).toBe(1)
    expect(placeInLine(window, 10, 1, 6_500)).toBe(0)
  })
})

describe('Smooth, 10 a second with a burst of 3:', () => {
  it('lets three go at once after a rest, and then one each 100 ms.', () => {
    const turns: number[] = []
    let cursor = floorAt(smooth, 9_000)
    for (let i = 0; i < 6; i += 1) {
      turns.push(turnMs(smooth, cursor, 1))
      cursor += widthOf(smooth, 1)
    }
    expect(turns.map((turn) => Math.max(0, turn - 9_000))).toEqual([0, 0, 0, 100, 200, 300])
  })

  it('asks for a rest as long as the cost.', () => {
    expect(turnMs(smooth, widthOf(smooth, 10), 3)).toBe(6_000)
    expect(turnMs(smooth, widthOf(smooth, 10), 1)).toBe(5_800)
  })
})

const epochs = fc.record({
  rules: fc.oneof(
    fc.record({
      algorithm: fc.constant('window' as const),
      maxRequests: fc.integer({ min: 1, max: 100_000 }),
      windowMs: fc.integer({ min: 100, max: 86_400_000 }),
      burst: fc.constant(1),
    }),
    fc.record({
      algorithm: fc.constant('smooth' as const),
      maxRequests: fc.integer({ min: 50, max: 100_000 }),
      windowMs: fc.integer({ min: 100, max: 86_400_000 }),
      burst: fc.integer({ min: 1, max: 50 }),
    }),
  ),
  revision: fc.integer({ min: 0, max: 1_800_000_000_000 }),
  configured: fc.boolean(),
  startMs: fc.integer({ min: 0, max: 1_800_000_000_000 }),
  generation: fc.integer({ min: 0, max: 1_000 }),
})

describe('For any rules,', () => {
  it('an epoch is read as it was written.', () => {
    fc.assert(
      fc.property(epochs, (epoch) => {
        expect(parseEpoch(epochText(epoch))).toEqual(epoch)
      }),
    )
    expect(() => parseEpoch('w100')).toThrow('a newer PushPop has written it ("w100")')
  })

  it('what is open now has had its turn, and what is not has not.', () => {
    fc.assert(
      fc.property(
        epochs,
        fc.integer({ min: 1, max: 9 }),
        fc.nat(100_000_000),
        (epoch, cost, ms) => {
          fc.pre(cost <= epoch.rules.maxRequests)
          const now = epoch.startMs + ms
          const last = lastOpenAt(epoch, now, cost)
          expect(turnMs(epoch, last, cost)).toBeLessThanOrEqual(now)
          const next = fittingPosition(epoch, last + 1, cost)
          expect(turnMs(epoch, next, cost)).toBeGreaterThan(now)
        },
      ),
    )
  })

  it('a position opens at the first moment at which it is open, for those who wait as well.', () => {
    const line = fc.constantFrom(0, 1, 400)
    fc.assert(
      fc.property(epochs, line, fc.nat(100_000_000), (epoch, inLine, ms) => {
        const now = epoch.startMs + ms
        const last = (at: number) =>
          inLine === 0 ? lastOpenAt(epoch, at, 1) : lastInLineAt(epoch, at, 1, inLine)
        const position = last(now) + 1
        const opens = opensMs(epoch, position, 1, inLine)
        expect(opens).toBeGreaterThan(now)
        expect(last(opens)).toBeGreaterThanOrEqual(position)
        expect(last(opens - 1)).toBeLessThan(position)
      }),
    )
  })

  it('a cursor stays a whole number, a century from now too.', () => {
    const century = Date.UTC(2126, 0, 1)
    fc.assert(
      fc.property(epochs, ({ rules }) => {
        const epoch = naturalEpoch({ rules, revision: 0, configured: false }, century)
        const last = lastInLineAt(epoch, century, 1, 1_000_000)
        expect(Number.isSafeInteger(last + widthOf(epoch, 1))).toBe(true)
      }),
    )
  })
})
