import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RateRow } from '../../../rate/core/row.ts'
import type { Rules } from '../../../rate/core/settings.ts'
import { type Ask, planSlots, type SlotWrite } from '../../../rate/core/slots.ts'

// Who is denied learns the very millisecond at which the same request would go, whatever rules the row had before.

const START_MS = 100_000

const rules: fc.Arbitrary<Rules> = fc
  .record({
    algorithm: fc.constantFrom('window', 'smooth'),
    maxRequests: fc.integer({ min: 1, max: 6 }),
    windowMs: fc.constantFrom(100, 250, 1_000, 7_000, 60_000),
    burst: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ algorithm, maxRequests, windowMs, burst }) => ({
    algorithm,
    maxRequests,
    windowMs,
    burst: algorithm === 'window' ? 1 : Math.min(burst, maxRequests),
  }))

/** A request, and what comes before it: time, and perhaps a change of settings. */
const step = fc.record({
  passMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 900 }), fc.integer({ max: 9_000 })),
  rules,
  /** New settings, or overrides of a single call; or none, as mostly. */
  change: fc.constantFrom('settings', 'overrides', 'none', 'none', 'none', 'none'),
  cost: fc.constantFrom(1, 1, 1, 2),
  canWait: fc.boolean(),
  inLine: fc.integer({ min: 0, max: 5 }),
})

/** What the store makes of a write. */
function applied(row: RateRow | undefined, write: SlotWrite): RateRow {
  const { kind, value } = write.cursor
  return {
    epoch: write.epoch,
    cursor: kind === 'add' ? (row?.cursor ?? 0) + value : value,
    atMs: write.atMs,
    giveUps: 0,
    overhang: write.overhang ?? row?.overhang ?? 0,
    configuration: undefined,
  }
}

type Decided =
  | { readonly kind: 'goes'; readonly row: RateRow | undefined }
  | { readonly kind: 'denied'; readonly row: RateRow | undefined; readonly opensMs: number }

/** Plans until there is an answer. */
function decide(row: RateRow | undefined, ask: Ask, nowMs: number): Decided {
  let now = row
  for (let writes = 0; writes < 3; writes += 1) {
    const plan = planSlots(now, ask, nowMs)
    if (plan.kind === 'denied') return { kind: 'denied', row: now, opensMs: plan.opensMs }
    now = applied(now, plan.write)
    if (plan.kind === 'write') return { kind: 'goes', row: now }
  }
  throw new Error('It hands the row over again and again')
}

function walk(steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[]) {
  let row: RateRow | undefined
  let nowMs = START_MS
  let valid: Rules | undefined
  let revision = 1
  let denials = 0
  for (const { passMs, change, cost, ...one } of steps) {
    nowMs += Math.max(0, passMs)
    if (change === 'settings') revision += 1
    if (change === 'settings' || valid === undefined) valid = one.rules
    const asked = change === 'overrides' ? one.rules : valid
    const ask: Ask = {
      rules: asked,
      revision,
      configured: false,
      cost: Math.min(cost, asked.maxRequests),
      canWait: one.canWait,
      inLine: one.inLine,
    }
    const decided = decide(row, ask, nowMs)
    row = decided.row
    if (decided.kind === 'goes') continue
    denials += 1
    const { opensMs } = decided
    expect(opensMs).toBeGreaterThan(nowMs)
    expect(decide(row, ask, opensMs - 1)).toMatchObject({ kind: 'denied', opensMs })
    expect(decide(row, ask, opensMs).kind).toBe('goes')
  }
  return denials
}

describe('A denial', () => {
  it('names the first millisecond at which the request would go.', () => {
    let denials = 0
    const property = fc.property(fc.array(step, { minLength: 2, maxLength: 30 }), (steps) => {
      denials += walk(steps)
    })
    fc.assert(property, { numRuns: 2_000, seed: 7 })
    expect(denials).toBeGreaterThan(5_000)
  })
})
