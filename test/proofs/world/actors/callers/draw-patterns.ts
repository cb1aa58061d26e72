import type { QueuePatternInput } from '../../../../../lambdas/engine/queues.ts'
import type { Random } from '../../../../../testing/random.ts'
import { drawLimit, type Profile } from './profile.ts'

/** Prefixes of all queues, of some, of one, of a dead-letter queue's name, and of none. */
const prefixes = ['', 'q', 'q0', 'q1', 'q0-dead', 'x']

export function drawPatterns(
  { limited, expiring }: Pick<Profile, 'limited' | 'expiring'>,
  random: Random,
): QueuePatternInput[] {
  return prefixes
    .filter(() => random.chance(0.4))
    .map((prefix) => ({
      prefix,
      settings: {
        ...(random.chance(0.5) && { segmentSize: random.between(1, 10) }),
        ...(random.chance(0.5) && { bufferSegments: random.between(1, 3) }),
        ...(random.chance(0.4) && { maxDeliveries: random.pick([1, 2, 3]) }),
        ...(random.chance(0.4) && { capacity: random.pick([1, 5, 20, 100]) }),
        ...(limited && random.chance(0.5) && { pushLimit: drawLimit(random) }),
        ...(limited && random.chance(0.5) && { popLimit: drawLimit(random) }),
        ...(expiring && random.chance(0.5) && { itemTtlSeconds: random.pick([1, 60, 600]) }),
        ...(expiring &&
          random.chance(0.5) && { expired: random.pick(['dead_letter', 'discard'] as const) }),
      },
    }))
}
