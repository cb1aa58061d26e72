import { deadLetterQueueOf } from '../../../lambdas/foundation/queue-id.ts'
import { Random } from '../../../testing/random.ts'
import { Statistics } from '../world/harness/statistics.ts'
import { Consumer, type Plan } from './consumer.ts'
import { type Kind, Ledger } from './ledger.ts'
import { drawProfile, type Profile } from './profile.ts'
import { LATE_MS_MAX, World } from './world.ts'

export type SeedResult = {
  readonly violations: readonly string[]
  readonly history: readonly string[]
  readonly met: Statistics
}

const STEPS_MAX = 3_000_000
const SWEEP_EVERY_MS = 10_000
/** By then all failures, locks and pauses are over. */
const PATIENCE_MS = 2 * 60 * 60_000
const IDLE_MS = 30_000
/** Lost answers and their repetitions, of the last request that settles something. */
const ENDING_MS = 60_000
const TURN_MS = 1_000
const LOOK_EVERY_MS = 500
/** After turns that found nothing, because the list had shown what another turn was taking. */
const FRUITLESS_MS_MAX = 5_000

/** Some queues, what is pushed to them, and some processes that work them and die, stop and come again. */
export async function runSeed(seed: number): Promise<SeedResult> {
  const random = new Random(seed)
  const profile = drawProfile(random.fork())
  const ledger = new Ledger(!profile.competing)
  const world = new World({ random: random.fork(), ...profile })
  const met = new Statistics()
  const run = new Run(world, ledger, profile, random, met)
  world.note(JSON.stringify(profile))
  const violations = ledger.violations
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    if (violations.length > 0) return
    const untilMs = world.nowMs + PATIENCE_MS
    const isOver = (): boolean => violations.length > 0 || isSo() || world.nowMs > untilMs
    const how = await world.scheduler.run(isOver, STEPS_MAX)
    if (how !== 'done') violations.push(`${what}: ${how}`)
    else if (violations.length === 0 && !isSo()) violations.push(`${what}: not in two hours`)
  }
  const pass = (ms: number): Promise<void> => {
    const untilMs = world.nowMs + ms
    return until('time passes', () => world.nowMs >= untilMs)
  }

  run.begin()
  await until('all is pushed', () => run.isPushed)
  // A queue that cannot be read hides no other one, and waits no longer than until it can be read.
  const canBeRead = ({ queue }: { readonly queue: string }): boolean => queue !== profile.unreadable
  await until('every item that can be read is done or dead', () => !ledger.left.some(canBeRead))
  if (ledger.left.length > 0) met.count('waited for a record that could not be read')
  world.mend()
  await until('every item is done or dead', () => ledger.left.length === 0)
  if (violations.length > 0 && ledger.left.length > 0) {
    const left = ledger.left.slice(0, 5).map(({ number, queue }) => `${number} of ${queue}`)
    violations.push(`${ledger.left.length} left: ${left}`)
  }
  // What is done may not be acknowledged yet, and comes again then.
  run.isQuiet = true
  world.isCalm = true
  await until('all locks end', () => !run.anyLeft)
  // The last late answer to a look may tell of items that are gone.
  await pass(2 * profile.idleMsMax + LATE_MS_MAX + 5_000)
  const [calls, sinceMs] = [world.calls, world.nowMs]
  await pass(IDLE_MS)
  run.checkIdle(world.calls - calls, world.nowMs - sinceMs)
  run.stopAll()
  await until('all processes end', () => run.consumers.every(({ isOver }) => isOver))
  run.checkFairness()
  met.count('handled', ledger.handled)
  if (profile.popLimit !== undefined) met.count('limited')
  for (const line of world.history) {
    const fault = /: (refused|lost|late)$/.exec(line)?.[1]
    if (fault !== undefined) met.count(fault)
  }
  for (const { kind, buriedFor } of ledger.items) {
    met.count(`item ${kind}`)
    if (buriedFor === undefined) continue
    met.count(`buried for ${buriedFor}`)
    met.count(`buried ${kind}`)
  }
  return { violations, history: world.history, met }
}

class Run {
  readonly #world: World
  readonly #ledger: Ledger
  readonly #profile: Profile
  readonly #random: Random
  readonly #met: Statistics
  readonly consumers: Consumer[]
  isPushed = false
  /** Nobody is killed or restarted any more. */
  isQuiet = false
  /** By the last sweep. */
  anyLeft = true
  #isOver = false
  #kills = 0
  #born = 0

  constructor(world: World, ledger: Ledger, profile: Profile, random: Random, met: Statistics) {
    this.#world = world
    this.#ledger = ledger
    this.#profile = profile
    this.#random = random
    this.#met = met
    this.consumers = []
  }

  begin(): void {
    const { queues, popLimit } = this.#profile
    const { queues: verbs } = this.#world
    for (let slot = 0; slot < this.#profile.processes; slot += 1) this.#start(slot)
    const configured = popLimit === undefined ? [] : queues.slice(0, 2)
    this.#watch(
      (async () => {
        for (const queue of configured) await verbs.configure(queue, { popLimit })
        await this.#produce()
        this.isPushed = true
      })(),
    )
    this.#watch(this.#sweep())
  }

  stopAll(): void {
    this.#isOver = true
    for (const consumer of this.consumers) consumer.stop()
  }

  /** Two looks a second for each process, and a pause after each round, whatever it has worked before. */
  checkIdle(calls: number, ms: number): void {
    const { processes, queues, names, pageSize, idleMsMax } = this.#profile
    // Dead-letter queues are on the pages as well.
    const pages = names ? 1 : Math.ceil((2 * queues.length) / pageSize)
    const roundMs = (pages - 1) * LOOK_EVERY_MS + idleMsMax
    const most = processes * pages * (ms / roundMs + 1)
    this.#met.max('max idle calls a second and process', calls / processes / (ms / 1_000))
    if (calls > most) this.#ledger.violations.push(`${calls} calls in ${ms} ms by the idle`)
  }

  /** Where nothing fails, no queue waits longer than the others take for a turn each. */
  checkFairness(): void {
    const { isCalm, queues, pageSize, idleMsMax, options, handler, processes, names, unreadable } =
      this.#profile
    const { longestWaitMs } = this.#ledger
    if (!isCalm || processes > 1 || unreadable !== undefined) return
    const pages = names ? 1 : Math.ceil(queues.length / pageSize) + 1
    const rounds = Math.ceil(queues.length / (options.queuesAtOnce ?? 10)) + 1
    const turnMs = TURN_MS + handler.slowMs + 500
    const most = pages * LOOK_EVERY_MS + idleMsMax + FRUITLESS_MS_MAX + rounds * turnMs
    this.#met.count('fairness checked')
    if (longestWaitMs > most) {
      this.#ledger.violations.push(`a queue waited ${longestWaitMs} ms, not ${most}`)
    }
  }

  #start(slot: number): void {
    const { prefix, names, options, handler, graceMs, lives } = this.#profile
    this.#born += 1
    const plan: Plan = { prefix, names, options, handler, graceMs }
    const consumer = new Consumer(
      `p${slot}.${this.#born}`,
      this.#world,
      this.#ledger,
      this.#random.fork(),
      plan,
    )
    const again = (ms: number) => this.#after(ms, () => this.#start(slot))
    this.consumers[slot] = consumer
    consumer.onDeath = () => {
      this.#met.count('died')
      again(this.#random.next() * 5_000)
    }
    consumer.onEnd = () => {
      this.#met.count('stopped')
      this.#checkEnd(consumer)
      // What it had done and not acknowledged comes again.
      if (!this.#isOver) again(this.#random.next() * 2_000)
    }
    if (lives === 'until the end') return
    this.#after(this.#random.next() * 20_000, () => {
      if (this.isQuiet) return
      if (lives === 'restarted') consumer.stop()
      else if (this.#kills < this.#profile.killsMax) {
        this.#kills += 1
        consumer.kill()
      }
    })
  }

  /** It ends in good time, and keeps nothing back that it can give back. */
  #checkEnd(consumer: Consumer): void {
    const { name, stoppedMs = 0, endedMs = 0, locks } = consumer
    const { handler, graceMs, odds, isFaultless } = this.#profile
    const most =
      ENDING_MS +
      Math.min(handler.slowMs, graceMs ?? handler.slowMs) +
      (odds.late > 0 ? LATE_MS_MAX : 0)
    const tookMs = endedMs - stoppedMs
    this.#met.max('max ms until a stop is over', tookMs)
    if (tookMs > most) this.#ledger.violations.push(`${name} took ${tookMs} ms to stop`)
    if (!isFaultless || graceMs !== undefined) return
    this.#watch(
      (async () => {
        for (const [lockId, queue] of locks) {
          const extended = await this.#world.queues.extend(queue, { lockId, ttlSeconds: 1 }).then(
            () => true,
            () => false,
          )
          if (extended)
            this.#ledger.violations.push(`${name} has ended, and has lock ${lockId} of ${queue}`)
        }
        this.#met.count('checked for locks that are left')
      })(),
    )
  }

  async #produce(): Promise<void> {
    const { pushes, gapMs, queues, kinds, bulk } = this.#profile
    const random = this.#random.fork()
    const { sleep } = this.#world.clock({ dead: false })
    for (let push = 0; push < pushes; push += 1) {
      await sleep(random.next() * gapMs)
      const queue = random.chance(0.4) ? (queues[0] as string) : random.pick(queues)
      const count = random.pick(bulk)
      const items = Array.from({ length: count }, () => {
        const kind = random.weighted<Kind>(kinds)
        return { text: String(this.#ledger.push(queue, kind, this.#world.nowMs).number) }
      })
      this.#world.note(`pushed ${items.map(({ text }) => text).join()} to ${queue}`)
      await this.#world.queues.push(queue, { items })
    }
  }

  /** As the schedule and the stream do: ends expired locks, and sees to the dead. */
  async #sweep(): Promise<void> {
    const { queues } = this.#world
    const { sleep } = this.#world.clock({ dead: false })
    for (;;) {
      await sleep(SWEEP_EVERY_MS)
      await queues.returnExpiredLocks()
      let anyLeft = false
      for (const queue of this.#profile.queues) {
        await queues.housekeep(queue)
        const { count } = await queues.inspect(queue, { consistent: true })
        if (count > 0) anyLeft = true
        const { items } = await queues.browse(deadLetterQueueOf(queue), { limit: 100 })
        for (const { text, reason = 'none' } of items) this.#ledger.buried(text, reason)
      }
      this.anyLeft = anyLeft
    }
  }

  #after(ms: number, run: () => void): void {
    const { scheduler } = this.#world
    scheduler.at(scheduler.nowMs + ms, this.#random.next(), true, run)
  }

  #watch(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#ledger.violations.push(
        `The world broke: ${error instanceof Error ? error.stack : error}`,
      )
    })
  }
}
