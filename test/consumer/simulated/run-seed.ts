import { Random } from '../../simulation/random.ts'
import { Ledger } from './ledger.ts'
import { type Odds, QUEUE, World } from './world.ts'

export type SeedResult = {
  readonly seed: number
  readonly violations: readonly string[]
  readonly history: readonly string[]
  readonly pushed: number
  /** Endings of runs by name, for what the seeds have met. */
  readonly endings: ReadonlyMap<string, number>
}

/** So long after the last push nothing may be left: failures, locks and sweeps are far over then. */
const PATIENCE_MS = 30 * 60_000
const SWEEP_EVERY_MS = 10_000
const STEPS_MAX = 200_000

/** One queue: pushes that come when its consumers are about to end, and whether all is done at last. */
export async function runSeed(seed: number): Promise<SeedResult> {
  const random = new Random(seed)
  const isExclusive = random.chance(0.6)
  const hasFaults = random.chance(0.5)
  const deliveriesMax = random.pick([Number.POSITIVE_INFINITY, 3])
  const timeoutMs = random.pick([10_000, 10_000, 30_000])
  const odds: Odds = {
    throttled: hasFaults ? 0.01 : 0,
    lost: hasFaults ? 0.01 : 0,
    killed: random.pick([0, 0.1, 0.4]),
    repeated: 0.05,
    notPut: hasFaults ? 0.05 : 0,
  }
  const ledger = new Ledger({
    random: random.fork(),
    isExclusive,
    failing: random.pick([0, 0, 0.2]),
    deliveriesMax,
    slowMs: random.pick([20, 500, 15_000]),
  })
  const world = new World({
    random: random.fork(),
    odds,
    timeoutMs,
    environmentsMax: random.between(1, 3),
    ledger,
    settings: {
      batchSize: random.pick([1, 3]),
      lockTtlSeconds: random.pick([5, 30]),
      deliveriesMax,
      locks: isExclusive ? 1 : random.between(1, 3),
      competing: !isExclusive,
    },
  })
  const { scheduler } = world
  const producer = world.engine()
  const sweeper = world.engine()
  const pushes = random.between(2, 8)
  const gapMs = random.pick([30, 300, 3_000])
  let pushed = 0
  let failure: unknown
  let lastPushMs = 0

  const produce = (left: number): void => {
    if (left === 0) return
    scheduler.at(scheduler.nowMs + random.next() * gapMs, random.next(), true, () => {
      const count = random.pick([1, 1, 3])
      const items = Array.from({ length: count }, (_, i) => ({ text: String(pushed + i) }))
      pushed += count
      producer.push(QUEUE, { items }).then(
        () => {
          world.note(`pushed up to ${pushed - 1}`)
          lastPushMs = scheduler.nowMs
          if (left === 1) isPushed = true
          produce(left - 1)
        },
        (error: unknown) => {
          failure = error
        },
      )
    })
  }
  let isPushed = false
  const sweep = (): void => {
    scheduler.at(scheduler.nowMs + SWEEP_EVERY_MS, 0.5, true, () => {
      sweeper.returnExpiredLocks().then(sweep, (error: unknown) => {
        failure = error
      })
    })
  }
  produce(pushes)
  sweep()

  const allDone = (): boolean => {
    for (let number = 0; number < pushed; number += 1) {
      if (!ledger.done.has(number) && !ledger.mayBeDead.has(number)) return false
    }
    return true
  }
  const isOver = (): boolean =>
    failure !== undefined ||
    ledger.violations.length > 0 ||
    (isPushed && world.isQuiet && allDone()) ||
    (isPushed && scheduler.nowMs > lastPushMs + PATIENCE_MS)
  const how = await scheduler.run(isOver, STEPS_MAX)

  const violations = [...ledger.violations]
  if (failure !== undefined) violations.push(`The world broke: ${failure}`)
  if (how !== 'done') violations.push(`It does not end: ${how}`)
  // A run that failed three times has left its event in the failure queue: somebody is told.
  const isExcused = ledger.failuresForGood > 0
  if (!allDone() && !isExcused && violations.length === 0) {
    const left = Array.from({ length: pushed }, (_, n) => n).filter((n) => !ledger.done.has(n))
    violations.push(`Nobody comes for ${left.join()}: the wakeup was lost`)
  }
  const endings = new Map<string, number>()
  for (const line of world.history) {
    const ending = / ends: (\w+)/.exec(line)?.[1]
    if (ending !== undefined) endings.set(ending, (endings.get(ending) ?? 0) + 1)
  }
  return { seed, violations, history: world.history, pushed, endings }
}
