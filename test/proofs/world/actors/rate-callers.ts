import type { AppliedSettings } from '../../../../lambdas/rate/operations/configure.ts'
import type { RateState } from '../../../../lambdas/rate/operations/rate-state.ts'
import type { TicketState } from '../../../../lambdas/rate/operations/tickets.ts'
import type { Admission } from '../../../../lambdas/rate/rate-limits.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import {
  checkAdmission,
  checkDenial,
  checkVerified,
  Openings,
} from '../checkers/rate/check-admission.ts'
import type { HeldTicket, RateCall, RateCommand } from '../checkers/rate/rate-call.ts'
import { RateRows } from '../checkers/rate/rows.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { inLife } from '../harness/world.ts'
import { Crowd } from './callers/crowd.ts'
import type { Outcome } from './callers/operation.ts'
import { drawRateCommand, drawRates, firstCommands, type RateProfile } from './rate/draw.ts'
import { RateProcess } from './rate/process.ts'

/** The rows that count calls under queues' own limits are judged in any world. */
export function queueLimits({ world }: Joining): Part {
  const rows = new RateRows(world)
  return { observe: (change) => isOfQueue(change) && rows.observe(change) }
}

/** By its key, which no caller of the limiter can name. */
const isOfQueue = ({ pk }: Change): boolean => pk.includes('~')

/** Longer than any line of this world, every memory of a denial, and the clocks' difference. */
const REST_MS = 3_600_000
/** One more than most limits of this world; a higher one that lets too few pass shows here as well. */
const PROBES_MAX = 7
/** A caller that should come back later than that does not. */
const PATIENCE_MS = 60_000

/** Callers of the rate limiter, on the queues' table. */
export class RateCallers implements Part {
  readonly #joining: Joining
  readonly #rows: RateRows
  readonly #openings: Openings
  readonly #profile: RateProfile
  readonly #crowd: Crowd<RateProcess>
  readonly #held: HeldTicket[] = []
  #isOver = false

  constructor(joining: Joining) {
    const { random, world } = joining
    const rows = new RateRows(world)
    const profile = drawRates(random)
    this.#joining = joining
    this.#rows = rows
    this.#openings = new Openings(rows)
    this.#profile = profile
    rows.lines = profile.lines
    const names = Array.from({ length: profile.processes }, (_, at) => `rate${at + 1}`)
    const processes = names.map((name) => this.#process(name))
    if (profile.farOff) processes.push(this.#process('off', { farOff: true }))
    const { concurrency, thinkMaxMs, restMs } = profile
    this.#crowd = new Crowd(world, processes, {
      concurrency,
      thinkMs: () => random.next() * (random.chance(0.08) ? restMs : thinkMaxMs),
      act: (process, done) =>
        this.#run(process, drawRateCommand(profile, this.#held, random), done),
    })
  }

  start(): void {
    const { world } = this.#joining
    world.history.add('', () => `rate limits: ${JSON.stringify(this.#profile)}`)
    const admin = this.#process('admin')
    const configure = ([command, ...others]: readonly RateCommand[]): void => {
      if (command === undefined) this.#crowd.start(this.#profile.calls)
      else this.#run(admin, command, () => configure(others))
    }
    // If it dies on the way, not all is configured.
    admin.onCrash = () => configure([])
    configure(firstCommands(this.#profile))
  }

  observe(change: Change): void {
    if (!isOfQueue(change)) this.#rows.observe(change)
  }

  isDone(): boolean {
    return this.#crowd.done
  }

  stop(): void {
    this.#isOver = true
  }

  /**
   * When everything is quiet and every promise is past, the limit is whole again: a process that knows
   * nothing gets exactly `max` a window, and one that remembers is not misled by it.
   */
  async settle(): Promise<void> {
    const { driver, random, world } = this.#joining
    if (random.chance(0.5)) this.#expire()
    const key = random.pick(this.#profile.keys)
    // A clock that is set back in between would deny by itself.
    const warm = this.#process('warm', { clockJumps: 0 })
    const admit = { verb: 'admit', key, request: {} } as const
    await this.#call(warm, admit)
    await driver.advance(REST_MS)
    const process = random.chance(0.5) ? warm : this.#process('cold', { clockJumps: 0 })
    const state = await this.#call<RateState>(process, { verb: 'state', key })
    if (state === undefined) return
    const { algorithm, burst, maxRequests, shards } = state.settings
    const isAllowed = async () => (await this.#call<Admission>(process, admit))?.kind === 'allowed'
    let allowed = 0
    while (allowed < PROBES_MAX && (await isAllowed())) allowed += 1
    const least = algorithm === 'window' ? maxRequests : Math.min(burst, maxRequests) * shards
    // Two windows may be met, where the first calls fall at the end of one; smooth goes on meanwhile.
    if (world.violation === undefined && allowed < Math.min(least, PROBES_MAX)) {
      world.violated('the limit is whole again', `${allowed} of ${JSON.stringify(state.settings)}`)
    }
  }

  #process(name: string, options?: { farOff?: boolean; clockJumps?: number }): RateProcess {
    return new RateProcess(this.#joining, this.#rows, name, options)
  }

  /** What it answered; undefined if it was refused. */
  async #call<T>(process: RateProcess, command: RateCommand): Promise<T | undefined> {
    let outcome: Outcome | undefined
    this.#run(process, command, (came) => {
      outcome = came
    })
    await this.#joining.driver.until(() => outcome !== undefined)
    return outcome?.kind === 'success' ? (outcome.value as T) : undefined
  }

  /** With a patient caller, who comes back just before the time that a denial names, and then at it. */
  #run(process: RateProcess, command: RateCommand, done: (outcome: Outcome) => void): void {
    const { world, random } = this.#joining
    if (this.#profile.expiry === 'at once') this.#expire()
    const run = (then: (outcome: Outcome) => void): void =>
      process.run(command, (call, outcome) => {
        this.#check(call, outcome)
        then(outcome)
      })
    run((outcome) => {
      const { kind, retryAfterMs } = answerIn(outcome)
      const isSoon = kind === 'denied' && retryAfterMs <= PATIENCE_MS && !this.#isOver
      if (!isSoon || !random.chance(this.#profile.patient)) return done(outcome)
      const opensMs = Math.floor(world.scheduler.nowMs) + retryAfterMs
      const at = (ms: number, then: () => void) => inLife(world, process.life, ms, () => run(then))
      at(opensMs - 1, () => at(opensMs, () => done(outcome)))
    })
  }

  /** As late as DynamoDB may be, or as early: before the next call, once it is due. */
  #expire(): void {
    const { store, scheduler, statistics } = this.#joining.world
    statistics.count('rows expired', store.expireTtl(Math.floor(scheduler.nowMs / 1_000)))
  }

  #check(call: RateCall, outcome: Outcome): void {
    const { world } = this.#joining
    const { command, operation, farOff } = call
    const { verb } = command
    world.statistics.count(`operation rate ${verb} ${outcome.kind}`)
    world.crossings.note('', 'rate limits')
    if (outcome.kind === 'crashed') return
    if (outcome.kind === 'broken') {
      const { stack } = outcome.error as Error
      world.violated('only our own errors come out', `#${operation.id} ${stack}`)
    } else if (outcome.kind === 'success') {
      if (verb === 'admit') this.#checkAdmission(call, outcome.value as Admission)
      if (verb === 'verify') checkVerified(this.#rows, call, outcome.value as TicketState)
      if (verb === 'configure') {
        this.#rows.rules(command.key, (outcome.value as AppliedSettings).revision)
      }
      if (verb === 'giveUp') world.statistics.count(`path gave up: ${answerIn(outcome).kind}`)
    } else {
      const { code, field, message } = outcome.error
      const may = code === 'STORE_UNAVAILABLE' && (!world.faultFree || farOff)
      const isTooDear = code === 'INVALID_PARAMETER' && field === 'cost'
      // A change of settings under contention may be BUSY; a decision in calm weather may not.
      if (may || isTooDear || code === 'BUSY') return
      world.violated('errors have reasons', `#${operation.id} ${code}: ${message}`)
    }
  }

  #checkAdmission(call: RateCall, answer: Admission): void {
    const { world, profile } = this.#joining
    const isCalm = world.faultFree && profile.clockJumps === 0
    const slot = checkAdmission(this.#rows, call, answer, { mayWaste: !isCalm })
    const { key } = call.command as { readonly key: string }
    if (answer.kind === 'promised') this.#held.push({ key, ...answer })
    // What one shard denies another may grant.
    if (this.#rows.of(`r#${key}#1`).states.length > 0) return
    if (answer.kind === 'denied') checkDenial(this.#rows, call, answer)
    this.#openings.check(call, answer, slot)
  }
}

const answerIn = (outcome: Outcome) =>
  (outcome.kind === 'success' ? outcome.value : {}) as { kind?: string; retryAfterMs: number }
