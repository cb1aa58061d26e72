import type { Turn } from '../../../lambdas/rate/core/turn.ts'
import type { Random } from '../../../testing/random.ts'
import type { RateCommand } from './rate-operation.ts'
import type { RateProfile } from './rate-profile.ts'

type HeldTicket = { readonly key: string; readonly ticket: string; readonly turn: Turn }

/** Draws the calls to the processes, and remembers the tickets they gave. */
export class RateWorkload {
  readonly #profile: RateProfile
  readonly #random: Random
  readonly #tickets: HeldTicket[] = []

  constructor(profile: RateProfile, random: Random) {
    this.#profile = profile
    this.#random = random
  }

  hold(ticket: HeldTicket): void {
    this.#tickets.push(ticket)
  }

  next(): RateCommand {
    const random = this.#random
    const { changes, keys } = this.#profile
    const key = random.pick(keys)
    if (random.chance(changes)) return this.change(key)
    const held = this.#tickets
    if (held.length > 0 && random.chance(0.15)) {
      // Twice for some: a DELETE whose answer was lost is sent again.
      return { verb: random.chance(0.6) ? 'giveUp' : 'verify', ...random.pick(held.slice(-3)) }
    }
    if (random.chance(0.03)) return { verb: 'state', key }
    return this.admit(key)
  }

  admit(key: string): RateCommand {
    const random = this.#random
    const { waiting, costs, overrides } = this.#profile
    const request = {
      cost: random.pick(costs),
      canWait: random.chance(waiting),
      maxWaitMs: random.pick([0, 0, 1_000, 20_000]),
      ...(random.chance(0.5) && { caller: random.pick(['a', 'b', 'c', 'd']) }),
      ...(overrides.length > 0 && random.chance(0.4) && { overrides: random.pick(overrides) }),
    }
    return { verb: 'admit', key, request }
  }

  change(key: string): RateCommand {
    const random = this.#random
    const settings = random.pick(this.#profile.settings)
    const kind = random.pick(['key', 'key', 'pattern', 'none'] as const)
    if (kind === 'key') return { verb: 'configure', key, settings }
    if (kind === 'none') return { verb: 'unconfigure', key }
    const prefix = random.pick(['', 'k'])
    return {
      verb: 'configurePatterns',
      patterns: [{ prefix, settings: { ...settings, ...unsplit(settings) } }],
    }
  }
}

/** Only a key's own configuration can split it. */
export const unsplit = ({ burst = 1 }: { readonly burst?: number | undefined }) => ({
  shards: 1,
  burst,
})
