import { type AgainOptions, retryOf } from '../../../lambdas/consumer/core/retry.ts'
import type { Queues } from '../../../lambdas/engine/queues.ts'
import { Random } from '../../../testing/random.ts'
import { Statistics } from '../world/harness/statistics.ts'
import { Ledger } from './ledger.ts'
import { type Odds, QUEUE, World } from './world.ts'

export type SeedResult = {
  readonly violations: readonly string[]
  readonly history: readonly string[]
  /** How often runs ended in which way, and what else the seed has met. */
  readonly met: Statistics
}

/**
 * This long after the last push nothing may be left: by then all failures, locks and sweeps are over,
 * and the sweeper has announced an unheard queue a dozen times more.
 */
const PATIENCE_MS = 10 * 60 * 60_000
const SWEEP_EVERY_MS = 10_000
const STEPS_MAX = 1_000_000

/**
 * One queue: pushes that come when its consumers are about to end, limits of its own, purges, kills, and
 * whether all is done at last. Where nothing keeps an event from its consumer, each item must be come
 * for at once; where something does, by a reminder at last.
 */
export async function runSeed(seed: number): Promise<SeedResult> {
  const random = new Random(seed)
  const isExclusive = random.chance(0.6)
  const hasFaults = random.chance(0.5)
  const deliveriesMax = random.pick([Number.POSITIVE_INFINITY, 3])
  /** The queue's own limit: it counts every return of a lock, whatever the consumer is set to. */
  const queueDeliveriesMax = random.pick([undefined, undefined, 1, 2, 3, 4, 6])
  const timeoutMs = random.pick([10_000, 10_000, 30_000])
  const retry: AgainOptions = random.pick([
    {},
    { delays: ['3s', '20s', '1h'] },
    { delays: ['20s', '1h'], overtake: true },
    { backoff: { first: '2s', factor: 10 }, overtake: true },
  ])
  const unheard = random.chance(0.35)
    ? random.pick(['late consumer', 'events off', 'dropped', 'stranger'] as const)
    : undefined
  const odds: Odds = {
    throttled: hasFaults ? 0.01 : 0,
    lost: hasFaults ? 0.01 : 0,
    killed: random.pick([0, 0.1, 0.4]),
    repeated: 0.05,
    notPut: hasFaults ? 0.05 : 0,
    dropped: unheard === 'dropped' ? random.pick([0.1, 0.3]) : 0,
  }
  const ledger = new Ledger({
    random: random.fork(),
    isExclusive: isExclusive && unheard !== 'stranger',
    mayOvertake: retry.overtake === true,
    failing: random.pick([0, 0, 0.2]),
    deliveriesMax: Math.min(deliveriesMax, queueDeliveriesMax ?? deliveriesMax),
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
      retry: retryOf(retry),
      locks: isExclusive ? 1 : random.between(1, 3),
      competing: !isExclusive,
    },
  })
  const { scheduler } = world
  const startMs = scheduler.nowMs
  const eventsOff = unheard === 'events off'
  // Turned on after some pushes, while the items of those wait without a mark or a timer.
  const eventsFromPush = eventsOff ? random.between(1, 4) : 0
  const [silent, producer] = [world.engine({ dead: false }, false, false), world.engine()]
  const sweeper = world.engine()
  if (unheard === 'late consumer') {
    world.deployedMs = startMs + random.pick([500, 20_000, 10 * 60_000])
  }
  const priorities = random.pick([[0], [0], [0, 1], [3, 1, 2]])
  const purges = random.chance(0.25)
  const pushes = random.between(2, 8)
  const gapMs = random.pick([30, 300, 3_000])
  let failure: unknown
  const fail = (error: unknown): void => {
    failure = error
  }
  let lastPushMs = 0
  let isPushed = false

  const inAWhile = (ms: number, work: () => Promise<unknown>, then: () => void): void => {
    scheduler.at(scheduler.nowMs + random.next() * ms, random.next(), true, () => {
      work().then(then, fail)
    })
  }
  const push = async (nth: number): Promise<void> => {
    const engine = nth < eventsFromPush ? silent : producer
    if (eventsOff && nth === eventsFromPush) {
      // A new setting starts a new sweeper.
      await sweeper.startTimers({ deadlineMs: Number.POSITIVE_INFINITY })
    }
    const items = Array.from({ length: random.pick([1, 1, 3]) }, () => {
      const priority = random.pick(priorities)
      return { text: String(ledger.push(priority)), priority }
    })
    await engine.push(QUEUE, { items })
    world.note(`pushed up to ${ledger.pushed - 1}`)
    lastPushMs = scheduler.nowMs
    if (!purges || !random.chance(0.3)) return
    const priority = random.chance(0.6) ? random.pick(priorities) : undefined
    ledger.purged(priority)
    world.note(`purges priority ${priority}`)
    await engine.purge(QUEUE, priority === undefined ? {} : { priority })
  }
  const produce = (nth: number): void =>
    inAWhile(
      gapMs,
      () => push(nth),
      () => {
        if (nth + 1 === pushes) isPushed = true
        else produce(nth + 1)
      },
    )
  const sweep = (): void => {
    scheduler.at(scheduler.nowMs + SWEEP_EVERY_MS, 0.5, true, () => {
      sweeper.returnExpiredLocks().then(sweep, fail)
    })
  }
  const configured =
    queueDeliveriesMax === undefined
      ? Promise.resolve()
      : producer.configure(QUEUE, { maxDeliveries: queueDeliveriesMax })
  configured.then(() => produce(0), fail)
  sweep()
  if (unheard === 'stranger') callOnce(world, random, ledger, world.engine())

  const isOver = (): boolean =>
    failure !== undefined ||
    ledger.violations.length > 0 ||
    (isPushed && world.isQuiet && ledger.left.length === 0) ||
    (isPushed && scheduler.nowMs > lastPushMs + PATIENCE_MS)
  const how = await scheduler.run(isOver, STEPS_MAX)

  const violations = [...ledger.violations]
  if (failure !== undefined) violations.push(`The world broke: ${failure}`)
  if (how !== 'done') violations.push(`It does not end: ${how}`)
  if (violations.length === 0 && ledger.left.length > 0) {
    violations.push(`Nobody comes for ${ledger.left.join()}`)
  }
  // A run that failed three times has left its event in the failure queue: then a reminder helps.
  if (unheard === undefined && world.reminders > 0 && ledger.failuresForGood === 0) {
    violations.push('The wakeup was lost: only a reminder brought somebody')
  }
  const met = new Statistics()
  const meet = (name: string): void => met.count(name)
  for (const line of world.history) {
    const ending = / ends: (\w+)/.exec(line)?.[1]
    if (ending !== undefined) meet(ending)
    if (line.includes('purges')) meet('purge')
  }
  if (unheard !== undefined) meet(unheard)
  if (world.reminders > 0) meet('reminded')
  met.count('retries', world.retries)
  met.count('overtaken', ledger.overtaken)
  if (queueDeliveriesMax !== undefined) meet('limit of the queue')
  return { violations, history: world.history, met }
}

/** A stranger takes one exclusive lock, acknowledges it or lets it expire, and never comes back. */
function callOnce(world: World, random: Random, ledger: Ledger, queues: Queues): void {
  const { scheduler } = world
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      scheduler.at(scheduler.nowMs + ms, random.next(), true, resolve)
    })
  const call = async (): Promise<void> => {
    await sleep(random.next() * 1_000)
    const popped = await queues.pop(QUEUE, { requireAck: true, ttlSeconds: 10 })
    if (popped.kind !== 'items' || popped.lock === undefined) return
    world.note('a stranger has a lock')
    ledger.delivered(popped.items)
    await sleep(random.next() * 5_000)
    if (random.chance(0.7)) {
      await queues.acknowledge(QUEUE, { lockId: popped.lock.id })
      for (const { text } of popped.items) ledger.done.add(Number(text))
    }
    world.note('the stranger is gone')
  }
  call().catch((error: unknown) => {
    world.note(`the stranger failed: ${error}`)
  })
}
