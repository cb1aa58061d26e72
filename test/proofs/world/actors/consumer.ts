import type { Handler } from '../../../../lambdas/consumer/core/handler.ts'
import { type AgainOptions, retryOf } from '../../../../lambdas/consumer/core/retry.ts'
import { noCounts } from '../../../../lambdas/consumer/core/run.ts'
import type { Settings } from '../../../../lambdas/consumer/core/settings.ts'
import { runQueue } from '../../../../lambdas/consumer/run-queue.ts'
import { createLog } from '../../../../lambdas/runtime/log.ts'
import type { Random } from '../../../../testing/random.ts'
import { announcementsOf } from '../../../../testing/simulated/announcements.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import { checkHandled, isWorkedOff } from '../checkers/check-consumers.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { sendEvent } from '../harness/world.ts'
import type { Writer } from './callers/writer.ts'

const LOOK_EVERY_MS = 10_000
const REPEATS_MAX = 2
/** So long after all locks, delays and runs have ended, reminders included, which come an hour apart at last. */
const PATIENCE_MINUTES = 150
const verbs = ['pop', 'acknowledge', 'extend', 'release', 'deadLetter', 'browse'] as const

type Call = { readonly failures: number }
type Environment = { readonly writer: Writer; busy: Run | undefined }
type Run = { readonly call: Call; readonly name: string }

/**
 * A function of a user's that works a queue, on the real code of consumers. Its runs are as Lambda has them: an
 * environment handles one event at a time and keeps its engine, an event waits for a free one, a run is killed at the
 * end of its time, and what failed is repeated twice.
 */
export class Consumer implements Part {
  readonly #joining: Joining
  readonly #queue: string
  readonly #settings: Settings
  readonly #timeoutMs: number
  readonly #slowMs: number
  readonly #failing: number
  readonly #environments: Environment[] = []
  readonly #environmentsMax: number
  readonly #waiting: Call[] = []
  #runs = 0
  #underWay = 0
  #isCalm = false
  #isOver = false

  constructor(joining: Joining) {
    const { random, profile, world } = joining
    this.#joining = joining
    this.#queue = random.pick(profile.queues).queue
    if (random.chance(0.5)) world.workedBy.add(this.#queue)
    const competing = random.chance(0.4)
    const retry: AgainOptions = random.pick([
      {},
      { delays: ['3s', '20s'] },
      { delays: ['20s'], overtake: true },
      { backoff: { first: '2s', factor: 4 }, overtake: true },
    ])
    this.#settings = {
      batchSize: random.pick([1, 3, 10, 100]),
      lockTtlSeconds: random.pick([5, 30]),
      deliveriesMax: random.pick([Number.POSITIVE_INFINITY, 3]),
      retry: retryOf(retry),
      locks: competing ? random.between(1, 3) : 1,
      competing,
    }
    this.#timeoutMs = random.pick([10_000, 10_000, 30_000])
    this.#slowMs = random.pick([20, 500, 15_000])
    this.#failing = random.pick([0, 0, 0.2])
    this.#environmentsMax = random.between(1, 3)
  }

  start(): void {
    const { world } = this.#joining
    world.history.add('', () => `a consumer of ${this.#queue}: ${JSON.stringify(this.#settings)}`)
    if (this.#mayCheck) this.#look()
  }

  observe(change: Change): void {
    if (this.#isOver || change.pk !== `q#${this.#queue}`) return
    const { operation } = this.#joining.model
    // The next run has found the queue locked. Now the lock's end is no event, and who made it does not go on.
    const isLate = operation?.command.verb === 'acknowledge'
    if (isLate && operation?.outcome?.kind === 'crashed') this.#hasLostEvent = true
    if (announcementsOf(change).some(({ kind }) => kind === 'items-available')) {
      this.#send({ failures: 0 }, change)
    }
  }

  stop(): void {
    this.#isCalm = true
  }

  async settle(): Promise<void> {
    const { driver, world, model } = this.#joining
    const isOff = () => world.violation !== undefined || isWorkedOff(model, this.#queue)
    const sweeper = this.#joining.newWriter('minute')
    for (let minute = 0; minute < PATIENCE_MINUTES && !isOff(); minute += minute < 20 ? 1 : 10) {
      await driver.call(sweeper, { verb: 'returnExpiredLocks', queue: '' })
      await driver.advance(minute < 20 ? 60_000 : 600_000)
      if (this.#isAlone && !this.#hasLostEvents) this.#check()
    }
    await driver.settle()
    if (!isOff()) world.violated('what is free is handled', `${this.#queue} is left alone`)
    this.#isOver = true
  }

  /** Events do not get lost, runs do not die, and nobody else keeps anything back. */
  get #mayCheck(): boolean {
    return this.#isAlone && this.#joining.world.faultFree
  }

  /** Nobody else locks anything here: then every wait is for this consumer. */
  get #isAlone(): boolean {
    const { world } = this.#joining
    return world.workedBy.has(this.#queue)
  }

  get #hasLostEvents(): boolean {
    return this.#hasLostEvent || this.#joining.profile.faults['event-missed'] > 0
  }

  /** A run was repeated for the last time, or one that had died acknowledged something after all. */
  #hasLostEvent = false

  #look(): void {
    if (this.#isCalm || this.#isOver) return
    this.#check()
    this.#joining.after(LOOK_EVERY_MS, () => this.#look())
  }

  #check(): void {
    if (this.#waiting.length > 0 || this.#underWay > 0) return
    if (this.#environments.some(({ busy }) => busy !== undefined)) return
    checkHandled(this.#joining.model, this.#queue)
  }

  #send(call: Call, change?: Change): void {
    sendEvent(this.#joining.world, change, (afterMs) => {
      this.#underWay += 1
      this.#joining.after(afterMs, () => {
        this.#underWay -= 1
        this.#waiting.push(call)
        this.#next()
      })
    })
  }

  #next(): void {
    const free = this.#environments.find(({ busy }) => busy === undefined) ?? this.#newEnvironment()
    const call = free && this.#waiting.shift()
    if (free === undefined || call === undefined) return
    this.#run(free, call)
    this.#next()
  }

  #newEnvironment(): Environment | undefined {
    const number = this.#environments.length + 1
    if (number > this.#environmentsMax) return undefined
    const writer = this.#joining.newWriter(`run${number}`)
    const environment: Environment = { writer, busy: undefined }
    writer.onCrash = () => {
      const { busy } = environment
      if (busy === undefined) return
      this.#end(environment, busy, 'died')
      this.#repeat(busy.call)
    }
    this.#environments.push(environment)
    return environment
  }

  #run(environment: Environment, call: Call): void {
    const { world, random } = this.#joining
    const { scheduler, statistics } = world
    const { writer } = environment
    this.#runs += 1
    const run: Run = { call, name: `run ${this.#runs}` }
    environment.busy = run
    world.history.add(writer.life.name, () => `${run.name} begins`)
    const endMs = scheduler.nowMs + this.#timeoutMs
    scheduler.at(endMs, 1, true, () => {
      if (environment.busy === run) writer.crash()
    })
    const clock = {
      nowMs: () => Math.floor(scheduler.nowMs),
      sleep: (ms: number, signal?: AbortSignal) => writer.sleep(ms, signal),
    }
    runQueue(
      {
        queue: this.#queue,
        settings: this.#settings,
        counts: noCounts(),
        remainingMs: () => endMs - scheduler.nowMs,
        handler: this.#handlerOf(clock),
      },
      {
        queues: writer.asQueues(verbs),
        clock,
        random: () => random.next(),
        log: createLog({
          level: 'warn',
          service: 'world',
          write: (line) => world.history.add(writer.life.name, () => line.slice(0, 200)),
        }),
        callNext: async () => {
          await clock.sleep(20 * random.next())
          this.#send({ failures: 0 })
        },
      },
    ).then(
      (ending) => {
        statistics.count(`path run ended ${ending}`)
        this.#end(environment, run, ending)
      },
      (error: unknown) => {
        if (environment.busy !== run) return
        this.#end(environment, run, `failed: ${error}`)
        this.#repeat(call)
      },
    )
  }

  #end(environment: Environment, run: Run, how: string): void {
    if (environment.busy !== run) return
    const { world } = this.#joining
    world.history.add(environment.writer.life.name, () => `${run.name} ends: ${how}`)
    environment.busy = undefined
    this.#joining.after(0, () => this.#next())
  }

  /** As Lambda repeats asynchronous calls. */
  #repeat({ failures }: Call): void {
    if (failures === REPEATS_MAX) this.#hasLostEvent = true
    else this.#joining.after(1_000, () => this.#send({ failures: failures + 1 }))
  }

  #handlerOf(clock: { sleep(ms: number): Promise<void> }): Handler {
    const { random } = this.#joining
    return async (items, context) => {
      // Once the world is calm it is healthy, so that what is left comes to its end.
      await clock.sleep(random.next() ** 4 * (this.#isCalm ? 20 : this.#slowMs))
      if (this.#isCalm || !random.chance(this.#failing)) return undefined
      return failSome(random, items, context)
    }
  }
}

/** In every way that a handler has. */
export function failSome(
  random: Random,
  items: Parameters<Handler>[0],
  context: Parameters<Handler>[1],
): Awaited<ReturnType<Handler>> {
  const some = items.filter(() => random.chance(0.5))
  switch (random.pick(['throws', 'names', 'releases', 'condemns'] as const)) {
    case 'throws':
      throw new Error('The handler failed')
    case 'names':
      return { failed: some.map(({ id }) => id) }
    case 'releases':
      for (const item of some) context.release(item)
      return undefined
    default:
      for (const item of some) context.deadLetter(item, 'poison')
      return undefined
  }
}
