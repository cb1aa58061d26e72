import { standingOf } from '../../../../lambdas/consumer/consume-many.ts'
import type { Handler } from '../../../../lambdas/consumer/core/handler.ts'
import { lookerOf } from '../../../../lambdas/consumer/core/look.ts'
import { type ManyOptions, manySettingsOf } from '../../../../lambdas/consumer/core/many-options.ts'
import { workMany } from '../../../../lambdas/consumer/core/work-many.ts'
import { late } from '../../../../lambdas/consumer/edge.ts'
import { checkIdle, checkTurns } from '../checkers/check-consumers.ts'
import type { Joining, Part } from '../harness/actor.ts'
import type { Writer } from './callers/writer.ts'
import { failSome } from './consumer.ts'

const verbs = ['list', 'pop', 'acknowledge', 'extend', 'release', 'deadLetter', 'browse'] as const
/** So that a seed has no more looks than operations of callers. */
const LIFE_MS_MAX = 20_000
const LIVES_MAX = 4
const IDLE_MS = 40_000

/** A process that works all queues of the callers: it lives for a while, and dies, or stops and gives back. */
export class ConsumeMany implements Part {
  readonly #joining: Joining
  readonly #writer: Writer
  readonly #options: ManyOptions
  readonly #slowMs: number
  readonly #failing: number
  readonly #names: readonly string[] | undefined
  #stop = new AbortController()
  #isAtWork = false
  #isCalm = false
  #lives = 0

  constructor(joining: Joining) {
    const { random, profile, newWriter } = joining
    this.#joining = joining
    this.#writer = newWriter('many')
    this.#slowMs = random.pick([0, 50, 500, 15_000])
    this.#failing = random.pick([0, 0, 0.2])
    // One that stops leaves items behind, and its last acknowledgement is no event.
    joining.world.workedBy.clear()
    this.#names = random.chance(0.3) ? profile.queues.map(({ queue }) => queue) : undefined
    this.#options = {
      queuesAtOnce: random.pick([1, 2, 10]),
      batchSize: random.pick([1, 3, 10]),
      lockTtlSeconds: random.pick([5, 30]),
      maxDeliveries: random.pick([undefined, 3]),
      competing: random.chance(0.4),
      idleMsMax: random.pick([500, 5_000]),
    }
    this.#writer.onCrash = () => {
      this.#isAtWork = false
      this.#workAgain(2_000)
    }
  }

  start(): void {
    this.#workAgain(5_000)
  }

  stop(): void {
    this.#isCalm = true
    this.#stop.abort()
  }

  /** Without faults: all have their turns, and with nothing to do it hardly asks. */
  async settle(): Promise<void> {
    const { driver, newWriter, world } = this.#joining
    const queues = ['turn-a', 'turn-b', 'turn-c']
    const options = { queuesAtOnce: 1, batchSize: 1, idleMsMax: 5_000 }
    for (const queue of queues) {
      const items = Array.from({ length: 12 }, (_, n) => ({ text: `"${queue} ${n}"` }))
      const writer = newWriter(`${queue}s`)
      // Not those of a pattern for all queues.
      await driver.call(writer, { verb: 'configure', queue, request: { segmentSize: 100 } })
      await driver.call(writer, { verb: 'push', queue, request: { items } })
    }
    const called = new Map<string, number[]>()
    let handled = 0
    this.#work({ queues }, options, async (_, { queue }) => {
      handled += 1
      called.set(queue, [...(called.get(queue) ?? []), world.scheduler.nowMs])
      await this.#writer.sleep(500)
    })
    const sinceMs = world.scheduler.nowMs
    await driver.until(() => handled === 36 || world.scheduler.nowMs > sinceMs + 300_000)
    checkTurns(world, called, sinceMs)
    // The last pause of before is over.
    await driver.advance(IDLE_MS / 2)
    const looks = () => world.statistics.get('operation list success')
    const before = looks()
    await driver.advance(IDLE_MS)
    checkIdle(world, looks() - before, IDLE_MS)
    this.#stop.abort()
    await driver.settle()
    if (this.#isAtWork) world.violated('who stops comes to an end', this.#writer.life.name)
  }

  #workAgain(withinMs: number): void {
    this.#joining.after(withinMs * this.#joining.random.next(), () => {
      if (this.#isCalm || this.#lives === LIVES_MAX) return
      this.#lives += 1
      this.#work()
    })
  }

  #work(
    which: Parameters<typeof lookerOf>[1] = this.#names === undefined
      ? { prefix: 'q' }
      : { queues: this.#names },
    options = this.#options,
    handler: Handler = (items, context) => this.#handle(items, context),
  ): void {
    const { world, random } = this.#joining
    const { life } = this.#writer
    this.#stop = new AbortController()
    this.#isAtWork = true
    const stop = this.#stop
    const queues = this.#writer.asQueues(verbs)
    world.history.add(life.name, () => `works many: ${JSON.stringify({ ...which, ...options })}`)
    if (!this.#isCalm) this.#joining.after(LIFE_MS_MAX * random.next(), () => this.#halt(stop))
    const graceOver = new AbortController().signal
    workMany(
      manySettingsOf(options),
      handler,
      {
        queues,
        look: lookerOf(async (request) => {
          const page = await queues.list({ ...request, detail: true })
          return { queues: page.queues.map(standingOf), cursor: page.cursor }
        }, which),
        clock: {
          nowMs: () => world.scheduler.nowMs,
          sleep: (ms, signal) => this.#writer.sleep(ms, signal),
        },
        random: () => random.next(),
        newKey: () => `${life.name}-${random.next()}`,
        late,
        report: ({ kind }) => world.statistics.count(`path told of ${kind} by a worker`),
      },
      { stop: stop.signal, graceOver, halt: () => stop.abort() },
    ).then(
      () => {
        world.history.add(life.name, () => 'works no more')
        this.#isAtWork = false
        this.#workAgain(10_000)
      },
      (error: unknown) => world.violated('a consumer goes on', `${life.name}: ${error}`),
    )
  }

  #halt(stop: AbortController): void {
    if (stop !== this.#stop || !this.#isAtWork || this.#isCalm) return
    if (this.#joining.random.chance(0.5)) stop.abort()
    else this.#writer.crash()
  }

  async #handle(...[items, context]: Parameters<Handler>): Promise<Awaited<ReturnType<Handler>>> {
    const { random } = this.#joining
    await this.#writer.sleep(random.next() ** 4 * this.#slowMs)
    if (this.#isCalm || !random.chance(this.#failing)) return undefined
    return failSome(random, items, context)
  }
}
