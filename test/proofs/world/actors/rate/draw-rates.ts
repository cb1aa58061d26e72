import type { Overrides, SettingsInput } from '../../../../../lambdas/rate/core/settings.ts'
import type { Turn } from '../../../../../lambdas/rate/core/turn.ts'
import type { Random } from '../../../../../testing/random.ts'
import type { RateCommand } from './rate-call.ts'

/** What the rate limits of one world are like, and who asks for them. */
export type RateProfile = {
  readonly processes: number
  readonly concurrency: number
  readonly calls: number
  readonly keys: readonly string[]
  /** What keys and patterns are configured with: the first is there from the beginning, if any. */
  readonly settings: readonly SettingsInput[]
  readonly configured: 'nothing' | 'key' | 'pattern'
  /** How often a call changes the configuration. */
  readonly changes: number
  readonly overrides: readonly Overrides[]
  readonly waiting: number
  readonly costs: readonly number[]
  readonly thinkMaxMs: number
  /** Now and then a caller rests so long. */
  readonly restMs: number
  /** How many of those that are denied come back when they were told to. */
  readonly patient: number
  /** One process's clock is an hour off, and it knows the gateway's time. */
  readonly farOff: boolean
  /** Rows go as soon as they may, or some day. */
  readonly expiry: 'at once' | 'late'
}

export function drawRates(random: Random): RateProfile {
  const windowMillis = random.pick([100, 250, 1_000, 1_000, 10_000])
  return {
    processes: random.between(1, 4),
    concurrency: random.pick([1, 1, 2, 3]),
    calls: random.between(10, 40),
    keys: random.chance(0.8) ? ['k'] : ['k', 'kk'],
    settings: Array.from({ length: 3 }, () => drawSettings(random, windowMillis)),
    configured: random.pick(['nothing', 'key', 'key', 'pattern']),
    changes: random.pick([0, 0.03, 0.1, 0.2]),
    overrides: random.chance(0.7)
      ? []
      : [
          { maxRequests: 3 },
          { maxRequests: 5, windowMillis: random.pick([windowMillis, 500]) },
          { maxRequestsInQueue: 2 },
        ],
    waiting: random.pick([0, 0.3, 0.7, 1]),
    costs: random.pick([[1], [1], [1, 2], [1, 2, 3], [2]]),
    thinkMaxMs: random.pick([0, 5, windowMillis / 4, windowMillis, windowMillis * 2]),
    restMs: random.pick([0, windowMillis * 3, windowMillis * 5 + 60_000, 1_800_000]),
    patient: random.pick([0, 0.3, 1]),
    farOff: random.chance(0.1),
    expiry: random.pick(['at once', 'late']),
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

/** Only a key's own configuration can split it. */
const unsplit = (settings: SettingsInput): SettingsInput => ({ ...settings, shards: 1, burst: 1 })

export const shardsIn = ({ settings }: RateProfile): number =>
  Math.max(...settings.map(({ shards = 1 }) => shards))

/** The shortest and the longest line that any of the settings allow. */
export function linesIn({ settings, overrides }: RateProfile): { min: number; max: number } {
  const lines = [...settings, ...overrides].map(
    ({ maxRequestsInQueue }) => maxRequestsInQueue ?? 400,
  )
  const shares = settings.map(({ maxRequestsInQueue = 400, shards = 1 }) =>
    Math.floor(maxRequestsInQueue / shards),
  )
  return { min: Math.min(400, ...lines, ...shares), max: Math.max(400, ...lines) }
}

export function firstCommands({ configured, keys, settings }: RateProfile): RateCommand[] {
  const [first = {}] = settings
  if (configured === 'key') {
    return keys.map((key) => ({ verb: 'configure', key, settings: first }))
  }
  const patterns = [{ prefix: 'k', settings: unsplit(first) }]
  return configured === 'pattern' ? [{ verb: 'configurePatterns', patterns }] : []
}

export type HeldTicket = { readonly key: string; readonly ticket: string; readonly turn: Turn }

export function drawRateCommand(
  profile: RateProfile,
  held: readonly HeldTicket[],
  random: Random,
): RateCommand {
  const key = random.pick(profile.keys)
  if (random.chance(profile.changes)) return drawChange(profile, key, random)
  if (held.length > 0 && random.chance(0.15)) {
    // Twice for some: a DELETE whose answer was lost is sent again.
    return { verb: random.chance(0.6) ? 'giveUp' : 'verify', ...random.pick(held.slice(-3)) }
  }
  if (random.chance(0.03)) return { verb: 'state', key }
  const { waiting, costs, overrides } = profile
  const request = {
    cost: random.pick(costs),
    canWait: random.chance(waiting),
    maxWaitMs: random.pick([0, 0, 1_000, 20_000]),
    ...(random.chance(0.5) && { caller: random.pick(['a', 'b', 'c', 'd']) }),
    ...(overrides.length > 0 && random.chance(0.4) && { overrides: random.pick(overrides) }),
  }
  return { verb: 'admit', key, request }
}

function drawChange(profile: RateProfile, key: string, random: Random): RateCommand {
  const settings = random.pick(profile.settings)
  const kind = random.pick(['key', 'key', 'pattern', 'none'])
  if (kind === 'key') return { verb: 'configure', key, settings }
  if (kind === 'none') return { verb: 'unconfigure', key }
  const patterns = [{ prefix: random.pick(['', 'k']), settings: unsplit(settings) }]
  return { verb: 'configurePatterns', patterns }
}
