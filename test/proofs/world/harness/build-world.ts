import { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import { SimulatedStore } from '../../../../testing/simulated/store.ts'
import type { Profile } from '../actors/callers/profile.ts'
import { Writer } from '../actors/callers/writer.ts'
import { Model } from '../checkers/model.ts'
import { observeChange, observeRequest } from '../checkers/observer.ts'
import { Crossings } from './crossings.ts'
import { noFaults } from './faults.ts'
import { History } from './history.ts'
import { Scheduler } from './scheduler.ts'
import { Statistics } from './statistics.ts'
import type { World } from './world.ts'

type WorldOptions = {
  readonly seed: number
  readonly history: boolean
  readonly profile: Partial<Profile> & Pick<Profile, 'latencyMaxMs' | 'skewMaxMs' | 'clockJumps'>
}

export type Built = {
  readonly world: World
  readonly model: Model
  readonly newWriter: (name: string) => Writer
  /** Also shows each committed change to this, once the checkers have judged it. */
  readonly watch: (observe: (change: Change) => void) => void
}

const START_MS = 1_790_000_000_000

/** Mostly some milliseconds; long where the coordinator of a transaction has died. */
const settlingMs = (mostMs: number, random: Random): number =>
  random.chance(0.4) ? 0 : random.between(1, random.chance(0.05) ? mostMs : Math.min(40, mostMs))

/** A store, the model that watches it, and the writers' factory; faults are off at first. */
export function buildWorld(options: WorldOptions): Built {
  const { seed, history, profile } = options
  const { settlesMaxMs = 0, skewMaxMs, clockJumps, faultFree = false } = profile
  const stale = (profile.faults?.['stale-read'] ?? 0) > 0
  const random = new Random(seed)
  const staleRandom = random.fork()
  // Drawn from the seed alone: what the other forks give stays as it is.
  const batchRandom = new Random(~seed)
  const settlingRandom = new Random(seed ^ 0x5e771e)
  const scheduler = new Scheduler(START_MS)
  const observers: ((change: Change) => void)[] = []
  const store = new SimulatedStore({
    nowMs: () => scheduler.nowMs,
    ...(stale && {
      staleness: () => {
        if (!staleRandom.chance(world.odds['stale-read'])) return 0
        world.statistics.count('fault stale-read')
        return staleRandom.between(1, 8)
      },
    }),
    staleMsMax: profile.staleMs,
    settlesAfterMs: settlesMaxMs > 0 ? () => settlingMs(settlesMaxMs, settlingRandom) : undefined,
    throttle: profile.throttle,
    // A request as a whole is throttled by the network; here single items of a batch are.
    throttlesRead: ({ inBatch = false }) => {
      if (!inBatch || !batchRandom.chance(world.odds.throttled)) return false
      world.statistics.count('fault throttled-read')
      return true
    },
    onChange: (change) => {
      observeChange(model, change)
      for (const observe of observers) observe(change)
    },
  })
  const log = new History(history, () => scheduler.nowMs)
  const world: World = {
    seed,
    scheduler,
    random: random.fork(),
    store,
    history: log,
    statistics: new Statistics(),
    crossings: new Crossings(() => scheduler.nowMs),
    faultFree,
    odds: noFaults,
    latencyMaxMs: profile.latencyMaxMs,
    skewMaxMs,
    waitingPopsMax: profile.waiting?.seats,
    transactionMaxMs: profile.transactionMaxMs ?? 0,
    linger: profile.linger,
    workedBy: new Set(),
    applying: undefined,
    intervene: undefined,
    applied: (request) => observeRequest(model, request),
    isCalm: false,
    violation: undefined,
    violated: (rule, explanation) => {
      log.add('', () => `VIOLATED ${rule}: ${explanation}`)
      world.violation ??= { rule, explanation }
    },
  }
  const model = new Model(world)
  const newWriter = (name: string): Writer =>
    new Writer(world, model, { name, skewMaxMs, clockJumps })
  const watch: Built['watch'] = (observe) => void observers.push(observe)
  return { world, model, newWriter, watch }
}
