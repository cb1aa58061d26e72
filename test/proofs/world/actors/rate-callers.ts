import type { AppliedSettings, RateState } from '../../../../rate/configure.ts'
import type { Admission } from '../../../../rate/rate-limits.ts'
import type { TicketState } from '../../../../rate/tickets.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import {
  checkAdmission,
  checkDenial,
  checkVerified,
  openingsOf,
} from '../checkers/rate/check-admission.ts'
import type { HeldTicket, RateCall, RateCommand } from '../checkers/rate/rate-call.ts'
import { RateRows } from '../checkers/rate/rows.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { inLife } from '../harness/world.ts'
import { crowdOf } from './callers/crowd.ts'
import type { Outcome } from './callers/operation.ts'
import { drawRateCommand, drawRates, firstCommands } from './rate/draw.ts'
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
export function rateCallers(joining: Joining): Part {
  const { random, world, driver } = joining
  const { scheduler, statistics } = world
  const isCalm = world.faultFree && joining.profile.clockJumps === 0
  const rows = new RateRows(world)
  const checkOpening = openingsOf(rows)
  const profile = drawRates(random)
  rows.lines = profile.lines
  const held: HeldTicket[] = []
  const newProcess = (name: string, options?: { farOff?: boolean; clockJumps?: number }) =>
    new RateProcess(joining, rows, name, options)

  /** As late as DynamoDB may be, or as early: before the next call, once it is due. */
  const expire = (): void =>
    statistics.count('rows expired', world.store.expireTtl(Math.floor(scheduler.nowMs / 1_000)))

  /** With a patient caller, who comes back just before the time that a denial names, and then at it. */
  const run = (process: RateProcess, command: RateCommand, done: (came: Outcome) => void): void => {
    if (profile.expiry === 'at once') expire()
    const once = (then: (outcome: Outcome) => void): void =>
      process.run(command, (call, outcome) => {
        check(call, outcome)
        then(outcome)
      })
    once((outcome) => {
      const { kind, retryAfterMs } = answerIn(outcome)
      const isSoon = kind === 'denied' && retryAfterMs <= PATIENCE_MS && !world.isCalm
      if (!isSoon || !random.chance(profile.patient)) return done(outcome)
      const opensMs = Math.floor(scheduler.nowMs) + retryAfterMs
      const at = (ms: number, then: () => void) => inLife(world, process.life, ms, () => once(then))
      at(opensMs - 1, () => at(opensMs, () => done(outcome)))
    })
  }
  /** What it answered; undefined if it was refused. */
  const ask = async <T>(process: RateProcess, command: RateCommand): Promise<T | undefined> => {
    let outcome: Outcome | undefined
    run(process, command, (came) => {
      outcome = came
    })
    await driver.until(() => outcome !== undefined)
    return outcome?.kind === 'success' ? (outcome.value as T) : undefined
  }

  const check = (call: RateCall, outcome: Outcome): void => {
    const { command, operation, farOff } = call
    const { verb } = command
    statistics.count(`operation rate ${verb} ${outcome.kind}`)
    world.crossings.note('', 'rate limits')
    if (outcome.kind === 'crashed') return
    if (outcome.kind === 'broken') {
      const { stack } = outcome.error as Error
      world.violated('only our own errors come out', `#${operation.id} ${stack}`)
    } else if (outcome.kind === 'success') {
      if (verb === 'admit') checkAdmitted(call, command.key, outcome.value as Admission)
      if (verb === 'verify') checkVerified(rows, call, outcome.value as TicketState)
      if (verb === 'configure') rows.rules(command.key, (outcome.value as AppliedSettings).revision)
      if (verb === 'giveUp') statistics.count(`path gave up: ${answerIn(outcome).kind}`)
    } else {
      const { code, field, message } = outcome.error
      const may = code === 'STORE_UNAVAILABLE' && (!world.faultFree || farOff)
      const isTooDear = code === 'INVALID_PARAMETER' && field === 'cost'
      // A change of settings under contention may be BUSY; a decision in calm weather may not.
      if (may || isTooDear || code === 'BUSY') return
      world.violated('errors have reasons', `#${operation.id} ${code}: ${message}`)
    }
  }
  const checkAdmitted = (call: RateCall, key: string, answer: Admission): void => {
    const slot = checkAdmission(rows, call, answer, { mayWaste: !isCalm })
    if (answer.kind === 'promised') held.push({ key, ...answer })
    // What one shard denies another may grant.
    if (rows.of(`r#${key}#1`).states.length > 0) return
    checkDenial(rows, call, answer)
    checkOpening(call, answer, slot)
  }

  const names = Array.from({ length: profile.processes }, (_, at) => `rate${at + 1}`)
  const processes = names.map((name) => newProcess(name))
  if (profile.farOff) processes.push(newProcess('off', { farOff: true }))
  const crowd = crowdOf(world, processes, {
    concurrency: profile.concurrency,
    thinkMs: () => random.next() * (random.chance(0.08) ? profile.restMs : profile.thinkMaxMs),
    act: (process, done) => run(process, drawRateCommand(profile, held, random), done),
  })

  return {
    start() {
      world.history.add('', () => `rate limits: ${JSON.stringify(profile)}`)
      const admin = newProcess('admin')
      const configure = ([command, ...others]: readonly RateCommand[]): void => {
        if (command === undefined) crowd.start(profile.calls)
        else run(admin, command, () => configure(others))
      }
      // If it dies on the way, not all is configured.
      admin.onCrash = () => configure([])
      configure(firstCommands(profile))
    },
    observe(change) {
      if (!isOfQueue(change)) rows.observe(change)
    },
    isDone: crowd.isDone,
    /**
     * When everything is quiet and every promise is past, the limit is whole again: a process that knows
     * nothing gets exactly `max` a window, and one that remembers is not misled by it.
     */
    async settle() {
      if (random.chance(0.5)) expire()
      const key = random.pick(profile.keys)
      // A clock that is set back in between would deny by itself.
      const warm = newProcess('warm', { clockJumps: 0 })
      const admit = { verb: 'admit', key, request: {} } as const
      await ask(warm, admit)
      await driver.advance(REST_MS)
      const process = random.chance(0.5) ? warm : newProcess('cold', { clockJumps: 0 })
      const state = await ask<RateState>(process, { verb: 'state', key })
      if (state === undefined) return
      const { algorithm, burst, maxRequests, shards } = state.settings
      const isAllowed = async () => (await ask<Admission>(process, admit))?.kind === 'allowed'
      let allowed = 0
      while (allowed < PROBES_MAX && (await isAllowed())) allowed += 1
      const least = algorithm === 'window' ? maxRequests : Math.min(burst, maxRequests) * shards
      // Two windows may be met, where the first calls fall at the end of one; smooth goes on meanwhile.
      if (world.violation === undefined && allowed < Math.min(least, PROBES_MAX)) {
        const what = `${allowed} of ${JSON.stringify(state.settings)}`
        world.violated('the limit is whole again', what)
      }
    },
  }
}

const answerIn = (outcome: Outcome) =>
  (outcome.kind === 'success' ? outcome.value : {}) as { kind?: string; retryAfterMs: number }
