import type { ManyOptions } from '../../../lambdas/consumer/core/many-options.ts'
import type { Random } from '../../../testing/random.ts'
import type { HandlerOdds } from './consumer.ts'
import type { Kind } from './ledger.ts'
import type { Odds } from './world.ts'

/** What one seed's world is like. */
export type Profile = {
  readonly queues: readonly string[]
  readonly prefix: string
  /** Where the queues are named, and not found by their prefix. */
  readonly names: readonly string[] | undefined
  readonly pageSize: number
  /** A queue whose record nobody can read until all others are worked off. */
  readonly unreadable: string | undefined
  readonly processes: number
  readonly competing: boolean
  readonly options: ManyOptions
  readonly idleMsMax: number
  readonly graceMs: number | undefined
  readonly lives: 'until the end' | 'restarted' | 'killed'
  /** Besides what killers do. */
  readonly killsMax: number
  readonly handler: HandlerOdds
  readonly kinds: Readonly<Partial<Record<Kind, number>>>
  readonly popLimit: { readonly maxRequests: number; readonly windowMillis: number } | undefined
  readonly pushes: number
  readonly gapMs: number
  readonly bulk: readonly number[]
  readonly odds: Odds
  readonly isFaultless: boolean
  /** Nothing fails, nobody dies, and nothing is limited. */
  readonly isCalm: boolean
}

export function drawProfile(random: Random): Profile {
  const isCalm = random.chance(0.3)
  const isFaultless = isCalm || random.chance(0.4)
  const count = random.pick([1, 3, 8, 20])
  const queues = Array.from({ length: count }, (_, n) => `t.${String(n).padStart(2, '0')}`)
  const competing = random.chance(0.4)
  const deliveriesMax = random.pick([undefined, 3, 5])
  const idleMsMax = random.pick([500, 500, 5_000])
  const kinds: Partial<Record<Kind, number>> = { good: 20 }
  if (!isCalm && random.chance(0.5)) kinds.flaky = 4
  if (!isCalm && deliveriesMax !== undefined && random.chance(0.5)) kinds.poison = 2
  if (!isCalm && deliveriesMax !== undefined && random.chance(0.4)) kinds.killer = 0.6
  const options: ManyOptions = {
    queuesAtOnce: random.pick([1, 2, 5, 10]),
    batchSize: random.pick([1, 3, 10]),
    lockTtlSeconds: random.pick([5, 30]),
    maxDeliveries: deliveriesMax,
    competing,
    idleMsMax,
  }
  return {
    queues,
    prefix: 't.',
    names: random.chance(0.3) ? queues : undefined,
    pageSize: random.pick([2, 7, 100]),
    unreadable: random.chance(0.2) ? random.pick(queues) : undefined,
    processes: random.between(1, 3),
    competing,
    options,
    idleMsMax,
    graceMs: random.pick([undefined, undefined, 0, 2_000]),
    lives: isCalm ? 'until the end' : random.pick(['until the end', 'restarted', 'killed']),
    killsMax: 2,
    handler: { flaky: 0.3, slowMs: random.pick([0, 50, 500, isCalm ? 500 : 15_000]) },
    kinds,
    popLimit:
      !isCalm && random.chance(0.3)
        ? { maxRequests: random.pick([1, 3]), windowMillis: 4_000 }
        : undefined,
    pushes: random.pick([5, 20, 40]),
    gapMs: random.pick([20, 300, 2_000]),
    bulk: random.pick([[1], [1, 3], [1, 10]]),
    odds: isFaultless
      ? { refused: 0, lost: 0, late: 0 }
      : {
          refused: random.pick([0, 0.02, 0.1]),
          lost: random.pick([0, 0.01, 0.05]),
          late: random.pick([0, 0.01]),
        },
    isFaultless,
    isCalm,
  }
}
