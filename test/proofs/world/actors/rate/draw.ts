import type { Overrides, SettingsInput } from '../../../../../rate/core/settings.ts'
import type { Random } from '../../../../../testing/random.ts'
import type { HeldTicket, RateCommand } from '../../checkers/rate/rate-call.ts'

export type RateProfile = ReturnType<typeof drawRates>

/** What the rate limits of one world are like, and who asks for them. */
export function drawRates(random: Random) {
  const windowMillis = random.pick([100, 250, 1_000, 10_000, 60_000])
  const settings = [1, 2, 3].map(() => drawSettings(random, windowMillis))
  const others: Overrides[] = [
    { maxRequests: 3 },
    { maxRequests: 5, windowMillis: random.pick([windowMillis, 500]) },
    { maxRequestsInQueue: 2 },
  ]
  const overrides = random.chance(0.7) ? [] : others
  const lines = settings.map((one) => Math.floor(one.maxRequestsInQueue / one.shards))
  return {
    processes: random.between(1, 4),
    concurrency: random.pick([1, 1, 2, 3]),
    calls: random.between(10, 40),
    keys: random.chance(0.8) ? ['k'] : ['k', 'kk'],
    /** What keys and patterns are configured with: the first is there from the beginning, if any. */
    settings,
    configured: random.pick(['nothing', 'key', 'key', 'pattern']),
    changes: random.pick([0, 0.03, 0.1, 0.2]),
    overrides,
    waiting: random.pick([0, 0.3, 0.7, 1]),
    costs: random.pick([[1], [1], [1, 2], [1, 2, 3], [2]]),
    thinkMaxMs: random.pick([0, 5, windowMillis / 4, windowMillis, windowMillis * 2]),
    /** Now and then a caller rests so long. */
    restMs: random.pick([0, windowMillis * 3, windowMillis * 5 + 60_000, 1_800_000]),
    /** How many of those that are denied come back when they were told to. */
    patient: random.pick([0, 0.5, 1]),
    /** One process's clock is an hour off, and it knows the gateway's time. */
    farOff: random.chance(0.1),
    /** Rows go as soon as they may, or some day. */
    expiry: random.pick(['at once', 'late']),
    /** The shortest and the longest line that any settings allow; 400 without any. */
    lines: {
      min: Math.min(overrides.length > 0 ? 2 : 400, ...lines),
      max: Math.max(400, ...settings.map(({ maxRequestsInQueue }) => maxRequestsInQueue)),
    },
  }
}

function drawSettings(random: Random, windowMillis: number) {
  const smooth = random.chance(0.35)
  const shards = random.pick([1, 1, 1, 2])
  return {
    maxRequests: random.pick([3, 4, 5, 6, 10, 12]) * shards,
    maxRequestsInQueue: random.pick([0, 2, 6, 20, 1_000]),
    windowMillis: random.chance(0.7) ? windowMillis : random.pick([100, 400, 1_000, 5_000]),
    algorithm: smooth ? ('smooth' as const) : ('window' as const),
    burst: smooth ? random.pick([1, 1, 2, 3]) : 1,
    shards,
    allowOverrides: random.chance(0.7),
  }
}

/** Only a key's own configuration can split it. */
const forPrefix = (prefix: string, settings: SettingsInput): RateCommand => ({
  verb: 'configurePatterns',
  patterns: [{ prefix, settings: { ...settings, shards: 1, burst: 1 } }],
})

export function firstCommands({ configured, keys, settings }: RateProfile): RateCommand[] {
  const first = settings[0] as SettingsInput
  if (configured === 'pattern') return [forPrefix('k', first)]
  const configure = (key: string): RateCommand => ({ verb: 'configure', key, settings: first })
  return configured === 'key' ? keys.map(configure) : []
}

export function drawRateCommand(
  { keys, changes, settings, waiting, costs, overrides }: RateProfile,
  held: readonly HeldTicket[],
  random: Random,
): RateCommand {
  const key = random.pick(keys)
  if (random.chance(changes)) {
    const change = random.pick(settings)
    const kind = random.pick(['key', 'key', 'pattern', 'none'])
    if (kind === 'key') return { verb: 'configure', key, settings: change }
    return kind === 'none'
      ? { verb: 'unconfigure', key }
      : forPrefix(random.pick(['', 'k']), change)
  }
  if (held.length > 0 && random.chance(0.15)) {
    // Twice for some: a DELETE whose answer was lost is sent again.
    return { verb: random.chance(0.6) ? 'giveUp' : 'verify', ...random.pick(held.slice(-3)) }
  }
  if (random.chance(0.03)) return { verb: 'state', key }
  const request = {
    cost: random.pick(costs),
    canWait: random.chance(waiting),
    maxWaitMs: random.pick([0, 0, 1_000, 20_000]),
    ...(random.chance(0.5) && { caller: random.pick(['a', 'b', 'c', 'd']) }),
    ...(overrides.length > 0 && random.chance(0.4) && { overrides: random.pick(overrides) }),
  }
  return { verb: 'admit', key, request }
}
