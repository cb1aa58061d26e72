import type { AppliedSettings } from '../../../../lambdas/rate/operations/configure.ts'
import type { RateState } from '../../../../lambdas/rate/operations/rate-state.ts'
import type { TicketState } from '../../../../lambdas/rate/operations/tickets.ts'
import type { Admission } from '../../../../lambdas/rate/rate-limits.ts'
import type { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import { checkAdmission, checkVerified } from '../checkers/rate/check-admission.ts'
import { checkDenial, Openings } from '../checkers/rate/check-denial.ts'
import { RateRows } from '../checkers/rate/rate-rows.ts'
import type { Actor, Joining, Part } from '../harness/actor.ts'
import { inLife } from '../harness/world.ts'
import { Crowd } from './callers/crowd.ts'
import {
  drawRateCommand,
  drawRates,
  firstCommands,
  type HeldTicket,
  linesIn,
  type RateProfile,
  shardsIn,
} from './rate/draw-rates.ts'
import type { RateCall, RateCommand } from './rate/rate-call.ts'
import { type RateOutcome, RateProcess } from './rate/rate-process.ts'

/** Callers of the rate limiter, on the queues' table. The rows of the queues' own limits are judged in any world. */
export const rateCallers: Actor = {
  name: 'rate-callers',
  join(joining) {
    const rows = new RateRows(joining.world)
    if (!hasRateCallers(joining.random)) return { observe: (change) => rows.observe(change) }
    return new RateCallers(joining, rows)
  },
}

/** Its first draw. */
export const hasRateCallers = (random: Random): boolean => random.chance(0.15)

/** Longer than any line of this world, every memory of a denial, and the clocks' difference. */
const REST_MS = 400_000
/** One more than most limits of this world; a higher one that lets too few pass shows here as well. */
const PROBES_MAX = 7
/** Who is told to come back later than that does not. */
const PATIENCE_MS = 60_000

class RateCallers implements Part {
  readonly #joining: Joining
  readonly #rows: RateRows
  readonly #openings: Openings
  readonly #profile: RateProfile
  readonly #crowd: Crowd<RateProcess>
  readonly #held: HeldTicket[] = []
  #isOver = false

  constructor(joining: Joining, rows: RateRows) {
    const { random, world } = joining
    const profile = drawRates(random)
    this.#joining = joining
    this.#rows = rows
    this.#openings = new Openings(rows)
    this.#profile = profile
    rows.lines = linesIn(profile)
    const processes = Array.from({ length: profile.processes }, (_, i) =>
      this.#process(`rate${i + 1}`),
    )
    if (profile.farOff) processes.push(this.#process('off', { farOff: true }))
    const { concurrency, thinkMaxMs, restMs } = profile
    this.#crowd = new Crowd(world, processes, {
      concurrency,
      thinkMs: () => random.next() * (random.chance(0.08) ? restMs : thinkMaxMs),
      act: (process, done) => {
        if (this.#isOver) return done()
        this.#run(process, drawRateCommand(profile, this.#held, random), done)
      },
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
    // If it dies on the way, those who ask have no settings, but come.
    admin.onCrash = () => configure([])
    configure(firstCommands(this.#profile))
  }

  observe(change: Change): void {
    this.#rows.observe(change)
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
    await this.#admitOnce(warm, key)
    await driver.advance(REST_MS)
    const process = random.chance(0.5) ? warm : this.#process('cold', { clockJumps: 0 })
    const state = await this.#call(process, { verb: 'state', key })
    if (state?.kind !== 'answered') return
    const { settings } = state.answer as RateState
    const { algorithm, burst, maxRequests, shards } = settings
    let allowed = 0
    while (allowed < PROBES_MAX && (await this.#admitOnce(process, key)) === 'allowed') allowed += 1
    const least = algorithm === 'window' ? maxRequests : Math.min(burst, maxRequests) * shards
    // Two windows may be met, where the first calls fall at the end of one; smooth goes on meanwhile.
    if (world.violation === undefined && allowed < Math.min(least, PROBES_MAX)) {
      world.violated('the limit is whole again', `${allowed} of ${JSON.stringify(settings)}`)
    }
  }

  #process(name: string, options: { farOff?: boolean; clockJumps?: number } = {}): RateProcess {
    return new RateProcess(this.#joining, this.#rows, name, options)
  }

  async #admitOnce(process: RateProcess, key: string): Promise<Admission['kind'] | undefined> {
    const outcome = await this.#call(process, { verb: 'admit', key, request: {} })
    return outcome?.kind === 'answered' ? (outcome.answer as Admission).kind : undefined
  }

  async #call(process: RateProcess, command: RateCommand): Promise<RateOutcome | undefined> {
    let outcome: RateOutcome | undefined
    this.#run(process, command, (came) => {
      outcome = came
    })
    await this.#joining.driver.until(() => outcome !== undefined)
    return outcome
  }

  /** With a patient caller, who comes back just before the time that a denial names, and then at it. */
  #run(process: RateProcess, command: RateCommand, done: (outcome: RateOutcome) => void): void {
    const { world, random } = this.#joining
    if (this.#profile.expiry === 'at once') this.#expire()
    process.run(command, (call, outcome) => {
      this.#check(call, outcome)
      const waitMs = this.#isOver ? 0 : toldToWaitMs(outcome)
      if (waitMs === 0 || !random.chance(this.#profile.patient)) return done(outcome)
      const opensMs = Math.floor(world.scheduler.nowMs) + waitMs
      const at = (ms: number, next: () => void) =>
        inLife(world, process.life, ms, () =>
          process.run(command, (again, came) => {
            this.#check(again, came)
            next()
          }),
        )
      at(opensMs - 1, () => at(opensMs, () => done(outcome)))
    })
  }

  /** As late as DynamoDB may be, or as early: before the next call, once it is due. */
  #expire(): void {
    const { store, scheduler, statistics } = this.#joining.world
    statistics.count('rows expired', store.expireTtl(Math.floor(scheduler.nowMs / 1_000)))
  }

  #check(call: RateCall, outcome: RateOutcome): void {
    const { world, profile } = this.#joining
    const { command, operation, farOff } = call
    world.statistics.count(`operation rate ${command.verb} ${outcome.kind}`)
    world.crossings.note('', 'rate limits')
    if (outcome.kind === 'broken') {
      const { error } = outcome
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
      world.violated('only our own errors come out', `#${operation.id} ${told}`)
      return
    }
    if (outcome.kind === 'refused') {
      const { code, field, message } = outcome.error
      world.statistics.count(`error ${code}`)
      const may = code === 'STORE_UNAVAILABLE' && (!world.faultFree || farOff)
      const tooDear = code === 'INVALID_PARAMETER' && field === 'cost'
      // A change of settings under contention may be BUSY; a decision in calm weather may not.
      if (may || tooDear || code === 'BUSY') return
      world.violated('errors have reasons', `#${operation.id} ${code}: ${message}`)
      return
    }
    if (command.verb === 'admit') {
      const answer = outcome.answer as Admission
      const isCalm = world.faultFree && profile.clockJumps === 0
      const slot = checkAdmission(this.#rows, call, answer, { mayWaste: !isCalm })
      if (shardsIn(this.#profile) === 1) {
        if (answer.kind === 'denied') checkDenial(this.#rows, call, answer)
        this.#openings.check(call, answer, slot)
      }
      if (answer.kind === 'promised') this.#held.push({ key: command.key, ...answer })
    }
    if (command.verb === 'verify') checkVerified(this.#rows, call, outcome.answer as TicketState)
    if (command.verb === 'configure') {
      this.#rows.rules(command.key, (outcome.answer as AppliedSettings).revision)
    }
    if (command.verb === 'giveUp') {
      world.statistics.count(`gave up: ${(outcome.answer as { kind: string }).kind}`)
    }
  }
}

function toldToWaitMs(outcome: RateOutcome): number {
  if (outcome.kind !== 'answered') return 0
  const { kind, retryAfterMs } = (outcome.answer ?? {}) as Partial<Admission & { kind: 'denied' }>
  return kind === 'denied' && retryAfterMs !== undefined && retryAfterMs <= PATIENCE_MS
    ? retryAfterMs
    : 0
}
