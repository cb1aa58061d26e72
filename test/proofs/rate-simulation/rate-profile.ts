import type { Overrides, SettingsInput } from '../../../lambdas/rate/core/settings.ts'
import type { Random } from '../../../testing/random.ts'
import { drawFaults, type FaultOdds, noFaults } from '../world/harness/faults.ts'

/** What one seed's world is like; everything else about a run follows from it and the seed. */
export type RateProfile = {
  readonly faults: FaultOdds
  readonly faultFree: boolean
  readonly processes: number
  readonly concurrency: number
  readonly keys: readonly string[]
  /** What keys and patterns are configured with: the first is there from the beginning, if any. */
  readonly settings: readonly SettingsInput[]
  readonly configured: 'nothing' | 'key' | 'pattern'
  /** How often an operation changes the configuration. */
  readonly changes: number
  readonly overrides: readonly Overrides[]
  readonly waiting: number
  readonly costs: readonly number[]
  readonly latencyMaxMs: number
  readonly thinkMaxMs: number
  /** Between operations, now and then, everybody rests so long. */
  readonly restMs: number
  readonly skewMaxMs: number
  readonly clockJumps: number
  /** One process's clock is an hour off, and it knows the gateway's time. */
  readonly farOff: boolean
  /** Rows go as soon as they may, or some day. */
  readonly expiry: 'at once' | 'late'
  readonly operations: number
}

export function drawRateProfile(random: Random): RateProfile {
  const faultFree = random.chance(0.25)
  const calm = random.chance(0.3)
  const windowMillis = random.pick([100, 250, 1_000, 1_000, 10_000])
  const settings = Array.from({ length: 3 }, () => drawSettings(random, windowMillis))
  return {
    faults: faultFree ? noFaults : drawFaults(random, false),
    faultFree,
    processes: random.between(1, 4),
    concurrency: random.pick([1, 1, 2, 3]),
    keys: random.chance(0.8) ? ['k'] : ['k', 'kk'],
    settings,
    configured: random.pick(['nothing', 'key', 'key', 'pattern']),
    changes: random.pick([0, 0, 0.03, 0.15]),
    overrides: random.chance(0.7)
      ? []
      : [
          { maxRequests: 3 },
          { maxRequests: 5, windowMillis: random.pick([windowMillis, 500]) },
          { maxRequestsInQueue: 2 },
        ],
    waiting: random.pick([0, 0.3, 0.7, 1]),
    costs: random.pick([[1], [1], [1, 2], [1, 2, 3], [2]]),
    latencyMaxMs: random.pick([2, 5, 20, 100]),
    thinkMaxMs: random.pick([0, 5, windowMillis / 4, windowMillis, windowMillis * 2]),
    restMs: random.pick([0, 0, windowMillis * 3, windowMillis * 5 + 60_000]),
    skewMaxMs: calm ? 0 : random.pick([10, 300, 2_500, 5_000]),
    clockJumps: calm ? 0 : random.pick([0, 0, 0.02]),
    farOff: random.chance(0.1),
    expiry: random.pick(['at once', 'late']),
    operations: random.between(6, 30),
  }
}

function drawSettings(random: Random, windowMillis: number): SettingsInput {
  const smooth = random.chance(0.35)
  const shards = random.pick([1, 1, 1, 2])
  const maxRequests = random.pick([3, 4, 5, 6, 10, 12]) * shards
  return {
    maxRequests,
    maxRequestsInQueue: random.pick([0, 2, 6, 20, 1_000]),
    windowMillis: random.chance(0.7) ? windowMillis : random.pick([100, 400, 1_000, 5_000]),
    algorithm: smooth ? 'smooth' : 'window',
    burst: smooth ? random.pick([1, 1, 2, 3]) : 1,
    shards,
    allowOverrides: random.chance(0.7),
  }
}
