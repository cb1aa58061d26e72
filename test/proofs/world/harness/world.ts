import type { LingerOptions } from '../../../../engine/index.ts'
import type { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { SimulatedRequest, SimulatedStore } from '../../../../testing/simulated/store.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Crossings } from './crossings.ts'
import type { FaultOdds } from './faults.ts'
import type { History } from './history.ts'
import type { Scheduler } from './scheduler.ts'
import type { Statistics } from './statistics.ts'

/** What everything in one run shares. */
export type World = {
  readonly seed: number
  readonly scheduler: Scheduler
  readonly random: Random
  readonly store: SimulatedStore
  readonly history: History
  readonly statistics: Statistics
  readonly crossings: Crossings
  /** Nothing ever fails in this world, so a call that must be tried again was starved. */
  readonly faultFree: boolean
  /** Replaced when the faults are switched off. */
  odds: FaultOdds
  latencyMaxMs: number
  readonly skewMaxMs: number
  /** Seats of pops that wait; any number unless set. */
  readonly waitingPopsMax: number | undefined
  /** How long a transaction may hold its items; 0: not at all. */
  readonly transactionMaxMs: number
  readonly linger?: LingerOptions | undefined
  /** Queues that consumers have for themselves: callers do not pop from these. */
  readonly workedBy: Set<string>
  applying: Sender | undefined
  /** Decides the fate of single requests, in place of chance. */
  intervene: ((request: SimulatedRequest, sender: Sender) => Intervention | undefined) | undefined
  applied: (request: SimulatedRequest, sender: Sender) => void
  /** The faults are off: nobody begins anything new, so that the world comes to rest. */
  isCalm: boolean
  violation: { readonly rule: string; readonly explanation: string } | undefined
  /** A rule that does not hold: the run ends. */
  violated: (rule: string, explanation: string) => void
}

export type Intervention =
  | 'die before'
  | 'applied, die'
  | 'applied, answered, die'
  | 'not applied, answer lost'
  | 'applied, answer lost'

export type Sender = {
  readonly writer: string
  readonly operation: Operation | undefined
  /** Pushes that may be in the same batch, the first of them first. */
  readonly together?: readonly Operation[]
}

/** One life of a process: a crash ends it, a pause freezes it. */
export type Life = { readonly name: string; dead: boolean; pausedUntilMs: number }

/** Something that happens inside a writer: never once it is dead, and not while it is frozen. */
export function inLife(world: World, life: Life, timeMs: number, run: () => void): void {
  const { scheduler, random } = world
  scheduler.at(timeMs, random.next(), true, () => {
    if (life.dead) return
    if (life.pausedUntilMs > scheduler.nowMs) inLife(world, life, life.pausedUntilMs, run)
    else run()
  })
}

/** An event on its way from the table to whom it is for: late, twice or never, but not before readers see the change. */
export function sendEvent(world: World, change: Change | undefined, arrive: (ms: number) => void) {
  const { odds, random, statistics, scheduler } = world
  const shownAfterMs = Math.max(0, (change?.shownAtMs ?? 0) - scheduler.nowMs)
  if (random.chance(odds['event-missed'])) {
    statistics.count('fault event-missed')
    return
  }
  arrive(shownAfterMs + delayMs(world))
  if (!random.chance(odds['event-repeated'])) return
  statistics.count('fault event-repeated')
  arrive(shownAfterMs + delayMs(world))
}

function delayMs({ odds, random, statistics }: World): number {
  if (!random.chance(odds['event-late'])) return random.between(1, 200)
  statistics.count('fault event-late')
  return random.pick([2_000, 60_000, 600_000])
}
