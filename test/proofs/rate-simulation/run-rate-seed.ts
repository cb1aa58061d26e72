import type { TicketState } from '../../../lambdas/rate/operations/tickets.ts'
import type { Admission } from '../../../lambdas/rate/rate-limits.ts'
import { Random } from '../../../testing/random.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { Crowd } from '../world/actors/callers/crowd.ts'
import { Crossings } from '../world/harness/crossings.ts'
import { Driver } from '../world/harness/driver.ts'
import { noFaults } from '../world/harness/faults.ts'
import { History } from '../world/harness/history.ts'
import { Scheduler } from '../world/harness/scheduler.ts'
import { Statistics } from '../world/harness/statistics.ts'
import type { World } from '../world/harness/world.ts'
import { checkAdmission, checkVerified } from './check-rate-answer.ts'
import { probe } from './probe.ts'
import { RateModel } from './rate-model.ts'
import type { RateCommand, RateOperation } from './rate-operation.ts'
import { type RateOutcome, RateProcess } from './rate-process.ts'
import { drawRateProfile, type RateProfile } from './rate-profile.ts'
import { RateWorkload, unsplit } from './rate-workload.ts'

type RateRun = {
  readonly seed: number
  readonly violation: World['violation']
  readonly statistics: Statistics
  readonly history: History
}

const START_MS = 1_790_000_000_123

/** One seed: its world, its operations, the rest in which all lands, the probe, and the verdict. */
export async function runRateSeed(seed: number, withHistory = false): Promise<RateRun> {
  const random = new Random(seed)
  const profile = drawRateProfile(random.fork())
  const run = new RateRunner(seed, profile, random.fork(), withHistory)
  await run.all()
  const { violation, statistics, history } = run.world
  return { seed, violation, statistics, history }
}

export class RateRunner {
  readonly world: World
  readonly model: RateModel
  readonly profile: RateProfile
  readonly #random: Random
  readonly #workload: RateWorkload
  #operations = 0
  readonly #driver: Driver
  /** Splits that a key may have had, as the model knows them. */
  #shards: number

  constructor(seed: number, profile: RateProfile, random: Random, withHistory: boolean) {
    this.profile = profile
    this.#random = random
    this.#shards = Math.max(...profile.settings.map(({ shards = 1 }) => shards))
    const scheduler = new Scheduler(START_MS + random.between(0, 10_000))
    const store = new SimulatedStore({
      nowMs: () => scheduler.nowMs,
      onChange: (change) => this.model.observe(change),
    })
    const log = new History({ enabled: withHistory, nowMs: () => scheduler.nowMs })
    const world: World = {
      seed,
      scheduler,
      random: random.fork(),
      store,
      history: log,
      statistics: new Statistics(),
      crossings: new Crossings(() => scheduler.nowMs),
      faultFree: profile.faultFree,
      odds: noFaults,
      latencyMaxMs: profile.latencyMaxMs,
      skewMaxMs: 0,
      waitingPopsMax: undefined,
      transactionMaxMs: 0,
      workedBy: new Set(),
      applying: undefined,
      intervene: () => {
        // As late as DynamoDB may be, or as early: before the next request, once it is due.
        if (profile.expiry === 'at once') this.expire()
        return undefined
      },
      applied: () => {},
      violation: undefined,
      violated: (rule, explanation) => {
        log.add('', () => `VIOLATED ${rule}: ${explanation}`)
        world.violation ??= { rule, explanation }
      },
    }
    this.world = world
    this.#driver = new Driver(world)
    this.model = new RateModel(world, linesOf(profile))
    this.#workload = new RateWorkload(profile, random.fork())
  }

  expire(): void {
    const { store, scheduler, statistics } = this.world
    statistics.count('rows expired', store.expireTtl(Math.floor(scheduler.nowMs / 1_000)))
  }

  process(
    name: string,
    { farOff = false, clockJumps = this.profile.clockJumps } = {},
  ): RateProcess {
    const { skewMaxMs } = this.profile
    return new RateProcess(this.world, { name, skewMaxMs, clockJumps, farOff }, () => {
      this.#operations += 1
      return this.#operations
    })
  }

  async all(): Promise<void> {
    const { profile, world } = this
    world.history.add('', () => JSON.stringify(profile))
    const admin = this.process('admin')
    await this.#configureFirst(admin)
    world.odds = profile.faults
    const processes = Array.from({ length: profile.processes }, (_, i) => this.process(`p${i + 1}`))
    if (profile.farOff) processes.push(this.process('off', { farOff: true }))
    const random = this.#random
    const actors = new Crowd(world, processes, {
      concurrency: profile.concurrency,
      thinkMs: () => random.next() * (random.chance(0.08) ? profile.restMs : profile.thinkMaxMs),
      act: (process, done) =>
        process.run(this.#workload.next(), (operation, outcome) => {
          this.check(operation, outcome)
          done()
        }),
    })
    actors.start(profile.operations)
    await this.#driver.until(() => actors.done)
    world.odds = noFaults
    // All that was to land late has landed.
    await this.#driver.settle()
    if (profile.expiry === 'late' && this.#random.chance(0.5)) this.expire()
    // A clock that is set back in between would deny by itself.
    const steady = { clockJumps: 0 }
    await probe(this, this.process('warm', steady), this.process('cold', steady))
  }

  async #configureFirst(admin: RateProcess): Promise<void> {
    const { configured, keys, settings } = this.profile
    const [first = {}] = settings
    if (configured === 'key') {
      for (const key of keys) await this.call(admin, { verb: 'configure', key, settings: first })
    } else if (configured === 'pattern') {
      const pattern = { prefix: 'k', settings: { ...first, ...unsplit(first) } }
      await this.call(admin, { verb: 'configurePatterns', patterns: [pattern] })
    }
  }

  async call(process: RateProcess, command: RateCommand): Promise<RateOutcome | undefined> {
    let outcome: RateOutcome | undefined
    process.run(command, (operation, came) => {
      this.check(operation, came)
      outcome = came
    })
    await this.#driver.until(() => outcome !== undefined)
    return outcome
  }

  advance(ms: number): Promise<void> {
    return this.#driver.advance(ms)
  }

  check(operation: RateOperation, outcome: RateOutcome): void {
    const { world } = this
    const { command } = operation
    const { statistics } = world
    statistics.count(`operation ${command.verb} ${outcome.kind}`)
    statistics.max(`max requests of ${command.verb}`, operation.requests)
    if (outcome.kind === 'broken') {
      const { error } = outcome
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
      world.violated('only our own errors come out', `#${operation.id} ${told}`)
      return
    }
    if (outcome.kind === 'refused') {
      const { code, message } = outcome.error
      statistics.count(`error ${code}`)
      const may = code === 'STORE_UNAVAILABLE' && (!this.profile.faultFree || operation.farOff)
      const tooDear = code === 'INVALID_PARAMETER' && outcome.error.field === 'cost'
      // A change of settings under contention may be BUSY; a decision in calm weather may not.
      if (may || tooDear || code === 'BUSY') return
      world.violated('errors have reasons', `#${operation.id} ${code}: ${message}`)
      return
    }
    if (command.verb === 'admit') {
      const answer = outcome.answer as Admission
      const calm = this.profile.faultFree && this.profile.clockJumps === 0
      checkAdmission(world, this.model, operation, answer, { shards: this.#shards, calm })
      if (answer.kind === 'promised') this.#workload.hold({ key: command.key, ...answer })
    }
    if (command.verb === 'verify') checkVerified(world, operation, outcome.answer as TicketState)
    if (command.verb === 'giveUp') {
      statistics.count(`gave up: ${(outcome.answer as { kind: string }).kind}`)
    }
  }
}

function linesOf({ settings, overrides }: RateProfile): { min: number; max: number } {
  const lines = [...settings, ...overrides].map(
    ({ maxRequestsInQueue }) => maxRequestsInQueue ?? 400,
  )
  const shares = settings.map(({ maxRequestsInQueue = 400, shards = 1 }) =>
    Math.floor(maxRequestsInQueue / shards),
  )
  return { min: Math.min(400, ...lines, ...shares), max: Math.max(400, ...lines) }
}
