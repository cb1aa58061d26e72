import { createEngine } from '../../../lambdas/engine/create-engine.ts'
import {
  cancelScheduled,
  rescheduled,
} from '../../../lambdas/engine/operations/later/cancel-scheduled.ts'
import { createQueues, type PushItem, type Queues } from '../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import { seeded } from '../../../testing/random.ts'
import {
  createSimulatedClient,
  type Network,
  perfectNetwork,
} from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { createVirtualTime } from '../../../testing/simulated/virtual-time.ts'
import { faultyNetwork } from '../inbox-simulation/faulty-network.ts'
import { Account } from './account.ts'

const NAMES = { tableName: 'simulated', bucketName: 'simulated' }
const PRODUCERS = 3
const PUSHES = 14
const DELAY_SECONDS_MAX = 90
const SKEW_MS_MAX = 4_000
/** Long after everything is due and every lock has ended, and then until the queues are forgotten. */
const END_MS = 15 * 60_000
const FORGOTTEN_MS = 45 * 60_000

export type SeedResult = {
  readonly history: readonly string[]
  readonly violations: readonly string[]
}

/**
 * Producers that push for later, consumers that die, lose answers and have wrong clocks, somebody who cancels, and the
 * sweeper, from one seed. No pop may hand out an item before its time by its own clock; and in the end each was
 * taken once, if it was pushed and not cancelled.
 */
export async function runSeed(seed: number): Promise<SeedResult> {
  const random = seeded(seed)
  const pick = (most: number): number => Math.floor(random() * most)
  const time = createVirtualTime(Date.UTC(2030, 0, 1))
  const nowMs = () => Math.floor(time.nowMs())
  const store = new SimulatedStore({ ...NAMES, nowMs })
  // Half of the seeds have clocks that agree: then no item is early by a millisecond.
  const skewMsMax = random() < 0.5 ? 0 : SKEW_MS_MAX
  const account = new Account(nowMs, 2 * skewMsMax)
  const queues = ['q0', 'q1']
  const faults = { lost: 0.02 * random(), answerLost: 0.04 * random(), late: 0.04 * random() }

  const clockOf = (skewMs: number) => ({
    nowMs: () => nowMs() + skewMs,
    sleep: (ms: number) => time.sleep(ms),
  })
  const skew = () => Math.round(skewMsMax * (2 * random() - 1))
  const optionsOn = (network: Network, skewMs: number) => {
    const { dynamodb, s3 } = createSimulatedClient(store, network)
    const clock = clockOf(skewMs)
    const own = { clock, random: seeded(pick(2 ** 31)), onBackgroundError() {} }
    return { ...NAMES, ...own, dynamodb: dynamodb as never, s3: s3 as never }
  }
  const faulty = (onDeath: () => void) =>
    faultyNetwork({
      time,
      random,
      faults,
      isThrottled: () => false,
      diesAt: random() < 0.4 ? 1 + pick(30) : 0,
      onDeath,
    })

  let made = 0
  const itemsOf = (count: number): PushItem[] => {
    const isAlike = random() < 0.5
    const alike = 1 + pick(DELAY_SECONDS_MAX)
    const fill = pick(2) === 0 ? 4 : 180
    return Array.from({ length: count }, () => {
      made += 1
      const item = { text: JSON.stringify(`${made}:${'x'.repeat(pick(fill))}`), priority: pick(2) }
      const kind = random()
      if (kind < 0.15) return item
      const delaySeconds = isAlike ? alike : pick(DELAY_SECONDS_MAX)
      if (kind < 0.8) return { ...item, delaySeconds }
      return { ...item, deliverAtMs: nowMs() + 1_000 * delaySeconds - 10_000 + pick(1_000) }
    })
  }

  let producersLeft = PRODUCERS
  const producer = async (): Promise<void> => {
    for (let n = 0; n < PUSHES; n += 1) {
      const skewMs = skew()
      const process = createQueues(
        optionsOn(
          faulty(() => {}),
          skewMs,
        ),
      )
      const queue = queues[pick(queues.length)] as string
      const size = random()
      const items = itemsOf(size < 0.7 ? 1 + pick(3) : size < 0.95 ? 5 + pick(20) : 100)
      const idempotencyKey = random() < 0.3 ? `k${made}` : undefined
      const push = account.pushing(queue, items, nowMs() + skewMs)
      // A caller with a key is one who asks again.
      for (let sending = 0; sending < (idempotencyKey === undefined ? 1 : 3); sending += 1) {
        const request = { items, ...(idempotencyKey && { idempotencyKey }) }
        const asked = process.push(queue, request)
        const outcome = await Promise.race([
          asked.catch((error: unknown) => error),
          time.sleep(20_000),
        ])
        // The process died, and an earlier refusal says nothing of this sending.
        if (outcome === undefined) {
          account.refused(push, true)
          break
        }
        if (outcome instanceof Error) {
          if (!(outcome instanceof QueueError)) throw outcome
          account.refused(push, outcome.outcome === 'unknown')
        } else account.pushed(push, (outcome as { ids: string[] }).ids)
      }
      await time.sleep(8_000 * random() * random())
    }
    producersLeft -= 1
  }

  let isOver = false
  /** Takes for good, over a network that works, by a clock that is wrong. */
  const taker = async (): Promise<void> => {
    const skewMs = skew()
    const process = createQueues(optionsOn(perfectNetwork, skewMs))
    while (!isOver) {
      await time.sleep(12_000 * random())
      const queue = queues[pick(queues.length)] as string
      await take(process, queue, { count: 1 + pick(40), competing: true }, skewMs)
    }
  }
  const take = async (process: Queues, queue: string, request: object, skewMs = 0) => {
    const outcome = await process.pop(queue, request)
    if (outcome.kind !== 'items') return false
    account.seen(outcome.items, nowMs() + skewMs)
    account.taken(queue, outcome.items)
    return true
  }
  /** Locks what it can, dies, and loses answers: what it has had comes back. */
  const locker = async (): Promise<void> => {
    while (!isOver) {
      const skewMs = skew()
      const process = createQueues(
        optionsOn(
          faulty(() => {}),
          skewMs,
        ),
      )
      for (let pops = 0; pops < 5 && !isOver; pops += 1) {
        await time.sleep(5_000 * random())
        const queue = queues[pick(queues.length)] as string
        const competing = random() < 0.8
        const asked = process.pop(queue, {
          count: 1 + pick(10),
          competing,
          requireAck: true,
          ttlSeconds: 2,
        })
        const outcome = await Promise.race([asked.catch(() => undefined), time.sleep(10_000)])
        if (outcome?.kind === 'items') account.seen(outcome.items, nowMs() + skewMs)
      }
    }
  }
  const sweeper = async (): Promise<void> => {
    while (!isOver) {
      await time.sleep(20_000 * random())
      const process = createQueues(
        optionsOn(random() < 0.5 ? perfectNetwork : faulty(() => {}), skew()),
      )
      const asked = process
        .returnExpiredLocks({ deadlineMs: nowMs() + 30_000 })
        .catch(() => undefined)
      await Promise.race([asked, time.sleep(30_000)])
    }
  }
  const canceller = async (): Promise<void> => {
    const engine = createEngine(optionsOn(perfectNetwork, 0))
    const process = createQueues(optionsOn(perfectNetwork, 0))
    while (!isOver) {
      await time.sleep(10_000 * random())
      const queue = queues[pick(queues.length)] as string
      const ids: string[] = []
      let cursor: string | undefined
      do {
        const page = await process.scheduled(queue, {
          limit: 1 + pick(20),
          ...(cursor && { cursor }),
        })
        account.listed(queue, page.items)
        ids.push(...page.items.map(({ id }) => id))
        ;({ cursor } = page)
      } while (cursor !== undefined)
      const moved = ids.filter((id) => account.knows(id) && random() < 0.1)
      const dueMs = nowMs() + pick(60_000) - 5_000
      const isBusy = (error: unknown) => {
        if (error instanceof QueueError && error.code === 'BUSY') return new Map<string, string>()
        throw error
      }
      const newIds = await rescheduled(engine, queue, moved, { dueMs }).catch(isBusy)
      account.rescheduled(newIds, dueMs)
      const some = ids.filter(() => random() < 0.1)
      if (some.length === 0) continue
      const cancelled = await cancelScheduled(engine, queue, some).catch((error: unknown) =>
        isBusy(error).keys(),
      )
      account.cancelled([...cancelled])
    }
  }

  const well = createQueues(optionsOn(perfectNetwork, 0))
  const violations: string[] = []
  const start = async (): Promise<void> => {
    if (random() < 0.5) await well.configure('q0', { capacity: 15 })
    const running = [
      ...Array.from({ length: PRODUCERS }, producer),
      taker(),
      taker(),
      locker(),
      locker(),
    ]
    for (const one of [...running, sweeper(), canceller()]) {
      one.catch((error: unknown) => violations.push(String((error as Error).stack)))
    }
  }
  void start()
  while (producersLeft > 0 && violations.length === 0) await time.run(nowMs() + 10_000)
  await time.run(nowMs() + 1_000 * (DELAY_SECONDS_MAX + 20))
  isOver = true
  await time.run(nowMs() + END_MS / 2)
  let isDrained = false
  const drain = async (): Promise<void> => {
    for (const queue of queues) {
      while (await take(well, queue, { count: 100, competing: true }));
      const { count, scheduledCount } = await well.inspect(queue, { consistent: true })
      if (count + scheduledCount > 0)
        violations.push(`${queue} has ${count} and ${scheduledCount} left`)
    }
    isDrained = true
  }
  drain().catch((error: unknown) => violations.push(String((error as Error).stack)))
  const lastMs = nowMs() + END_MS
  while (!isDrained && violations.length === 0 && nowMs() < lastMs) await time.run(nowMs() + 60_000)
  if (!isDrained) violations.push('The queues are not drained')
  violations.push(...account.verdict())
  // A queue with settings of its own stays.
  const forgetting = async (): Promise<void> => {
    for (let sweep = 0; sweep < 3; sweep += 1) {
      await well.returnExpiredLocks({ deadlineMs: nowMs() + 60_000 })
      await time.sleep(FORGOTTEN_MS / 3)
    }
    const left = [...store.items()].map(({ pk }) => String(pk))
    const strays = left.filter((pk) => pk.startsWith('t#q1#'))
    if (strays.length > 0) violations.push(`left over: ${strays.join()}`)
  }
  forgetting().catch((error: unknown) => violations.push(String((error as Error).stack)))
  await time.run(nowMs() + FORGOTTEN_MS + 60_000)
  return { history: account.history, violations }
}
