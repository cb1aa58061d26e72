import { describe, expect, it } from 'vitest'
import type { Epoch } from '../../../rate/core/epoch.ts'
import { handOver, type Issued, turnMs } from '../../../rate/core/epoch.ts'
import type { Rules } from '../../../rate/core/settings.ts'

/** What a row is under other rules: nothing promised moves, and what was used counts. */

const rules = (maxRequests: number, windowMs = 1_000): Rules => ({
  algorithm: 'window',
  maxRequests,
  windowMs,
  burst: 1,
})
const smooth = (maxRequests: number, windowMs = 1_000, burst = 1): Rules => ({
  algorithm: 'smooth',
  maxRequests,
  windowMs,
  burst,
})
const epoch = (its: Rules): Epoch => ({
  rules: its,
  revision: 1,
  configured: false,
  startMs: 10_000,
  generation: 0,
})
const row = (its: Rules, cursor: number): Issued => ({ epoch: epoch(its), cursor, overhang: 0 })
const to = (before: Issued, its: Rules, nowMs: number): Issued =>
  handOver(before, { rules: its, revision: 2, configured: false }, nowMs)

describe('From 10 a second, at 10,500,', () => {
  it.each([
    ['nothing used', 0, rules(20), 10_000, 0, 0],
    ['a higher limit: what was used counts', 7, rules(20), 10_000, 7, 0],
    ['a lower one: it is full, and remembers by how much', 7, rules(3), 10_000, 3, 4],
    ['with promises to 12,000: from there', 24, rules(20), 12_000, 4, 0],
    ['longer windows: from this window on', 7, rules(20, 60_000), 10_000, 7, 0],
    ['shorter windows: in the one that is now', 7, rules(10, 200), 10_400, 7, 0],
    ['smooth: one after another from the window on', 7, smooth(10), 10_000, 7_000, 0],
  ])('%s.', (_, cursor, next, startMs, after, overhang) => {
    const handed = to(row(rules(10), cursor), next, 10_500)
    expect(handed).toMatchObject({ cursor: after, overhang })
    expect(handed.epoch).toMatchObject({ rules: next, startMs, revision: 2, generation: 1 })
  })
})

describe('From smooth, 10 a second, at 10,500,', () => {
  it.each([
    ['at rest: from now', 0, rules(20), 10_500, 0],
    ['with turns to 10,900: from there', 10_000, rules(20), 10_900, 1],
    ['at another pace: from there', 10_000, smooth(5), 10_900, 1_000],
  ])('%s.', (_, cursor, next, startMs, after) => {
    const handed = to(row(smooth(10), cursor), next, 10_500)
    expect(handed.cursor).toBe(after)
    expect(handed.epoch.startMs).toBe(startMs)
  })

  it('a burst just gone counts in the window that begins with it.', () => {
    // Three at once at 10,000.
    const handed = to(row(smooth(10, 1_000, 3), 3_000), rules(10), 10_000)
    expect(handed).toMatchObject({ cursor: 3, epoch: { startMs: 10_000 } })
  })
})

it('The same rules under another revision are the same ruler.', () => {
  const handed = to(row(rules(10), 24), rules(10), 10_500)
  expect(handed).toEqual({
    ...row(rules(10), 24),
    epoch: { ...epoch(rules(10)), revision: 2 },
  })
})

it('Rules that change there and back within a window give no slot twice.', () => {
  const full = row(rules(10), 7)
  for (const between of [rules(3), rules(3, 400), smooth(3)]) {
    const back = to(to(full, between, 10_050), rules(10), 10_100)
    expect(back.cursor).toBeGreaterThanOrEqual(back.epoch.startMs === 10_000 ? 7 : 0)
    expect(back.epoch.generation).toBe(2)
  }
})

it('A turn under the new rules is never before the last promise of the old.', () => {
  const all = [rules(10), rules(3), rules(50, 300), smooth(10), smooth(7, 2_000, 4)]
  for (const before of all) {
    for (const cursor of [0, 1, 9, 25, 4_000, 40_000]) {
      const old = row(before, cursor)
      const width = before.algorithm === 'window' ? 1 : before.windowMs
      if (cursor < width) continue
      const promised = turnMs(old.epoch, cursor - width, 1)
      for (const after of all) {
        const next = to(old, after, 10_500)
        expect(turnMs(next.epoch, next.cursor, 1)).toBeGreaterThanOrEqual(promised)
      }
    }
  }
})
