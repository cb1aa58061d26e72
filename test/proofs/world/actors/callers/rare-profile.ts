import type { Random } from '../../../../../testing/random.ts'
import type { Profile } from './profile.ts'

/** In a few worlds as many items are in flight as may be, and most of them die there. These are large and slow. */
export function asRare(profile: Profile, random: Random): Profile {
  if (!random.chance(0.01)) return profile
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
