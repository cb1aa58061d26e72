import { fnv1a } from '../../../../shared/system.ts'
import { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Profile } from '../actors/callers/profile.ts'
import type { Built } from './build-world.ts'
import type { Driver } from './drain.ts'

/**
 * Something that takes part in a world beside the callers: on the same clock, over the same network, on the same
 * store. Any seed may combine any of them.
 */
export type Actor = {
  readonly name: string
  /** In how many of all worlds it takes part. */
  readonly share: number
  /** Decides by its own randomness how it takes part. */
  join(joining: Joining): Part
}

export type Joining = Built & {
  readonly profile: Profile
  readonly driver: Driver
  /** The actor's own: what others draw stays as it is when one of them changes. */
  readonly random: Random
  /** Runs something that long from now, even if processes have died or are frozen by then. */
  readonly after: (ms: number, run: () => void) => void
  readonly pause: (ms: number) => Promise<void>
}

export type Part = {
  /** Called before the first era; from then on it acts by events of the scheduler. */
  start?(): void
  /** Each committed change of a row, once the checkers have judged it. */
  observe?(change: Change): void
  /** Between two eras. */
  rest?(): void
  /** The eras go on until nothing is left that it wants to do in them. */
  isDone?(): boolean
  /** Once the world is calm. */
  stop?(): void
  /** After the world has come to rest and before the drain: what it still has to see through without faults. */
  settle?(): Promise<void>
  /** After the drain: its own verdict. */
  checkEnd?(): void
}

export const takesPart = (actor: Actor, seed: number): boolean =>
  randomOf(actor, seed).chance(actor.share)

export function partsOf(
  actors: readonly Actor[],
  joining: Omit<Joining, 'random' | 'after' | 'pause'>,
): Part[] {
  const { seed, scheduler } = joining.world
  return actors
    .filter((actor) => takesPart(actor, seed))
    .map((actor) => {
      const random = randomOf(actor, ~seed)
      const after: Joining['after'] = (ms, run) =>
        scheduler.at(scheduler.nowMs + ms, random.next(), true, run)
      const pause: Joining['pause'] = (ms) => new Promise((resolve) => after(ms, resolve))
      return actor.join({ ...joining, random, after, pause })
    })
}

/** Near seeds and similar names give far numbers. */
const randomOf = ({ name }: Actor, seed: number) => new Random(fnv1a(`${name} ${seed}`) >>> 1)
