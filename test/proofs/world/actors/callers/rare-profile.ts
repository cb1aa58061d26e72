import type { Random } from '../../../../../testing/random.ts'
import type { Profile } from './profile.ts'

/** A few worlds go to a limit of the engine. These are large and slow. */
export function asRare(profile: Profile, random: Random): Profile {
  if (!random.chance(0.01)) return profile
  return random.chance(0.4) ? asWide(profile, random) : asCrowded(profile, random)
}

/** All lanes are in use, and items come due that need another one. */
function asWide(profile: Profile, random: Random): Profile {
  return {
    ...profile,
    queues: [{ queue: 'q0' }],
    lanes: 1_000,
    priorities: [5_000],
    writers: random.between(1, 2),
    concurrency: 1,
    bulkItems: [2, 4],
    itemBytes: [50],
    thinkMaxMs: random.pick([100, 300]),
    waiting: undefined,
    linger: undefined,
    expiring: undefined,
    limited: false,
    patterned: false,
    later: { seconds: random.pick([2, 4]), odds: 1 },
    eras: [{ mix: { push: 40, move: 2, scheduled: 8, returnExpiredLocks: 12 }, restMs: 0 }],
  }
}

/** As many items are in flight as may be, and most of them die there. */
function asCrowded(profile: Profile, random: Random): Profile {
  const taking = { pop: 40, housekeep: 1, returnExpiredLocks: 1, acknowledge: 1 }
  return {
    ...profile,
    queues: [{ queue: 'q0', maxDeliveries: 1 }],
    priorities: [0],
    bulkItems: [800, 1_000],
    itemBytes: [0],
    itemsMax: 3_500,
    popCounts: [100],
    competing: 1,
    combined: 0,
    ttlSeconds: [30],
    thinkMaxMs: random.pick([5, 300]),
    waiting: undefined,
    expiring: undefined,
    limited: false,
    patterned: false,
    later: undefined,
    eras: [
      { mix: { bulkPush: 1 }, restMs: 0 },
      { mix: taking, restMs: 120_000 },
    ],
  }
}
