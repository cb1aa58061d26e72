import type { Key } from '../../../../aws/table.ts'
import type { AppliedSettings, RateState } from '../../../../rate/configure.ts'
import { patternsKey } from '../../../../rate/core/row.ts'
import type { Overrides, SettingsInput } from '../../../../rate/core/settings.ts'
import { type Admission, createRateLimits, type RateLimits } from '../../../../rate/rate-limits.ts'
import type { TicketState } from '../../../../rate/tickets.ts'
import type { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { DocumentSender } from '../../../../testing/simulated/network.ts'
import {
  checkAdmission,
  checkDenial,
  checkVerified,
  openingsOf,
} from '../checkers/rate/check-admission.ts'
import {
  type HeldTicket,
  type RateCall,
  type RateCommand,
  RateRows,
} from '../checkers/rate/rows.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { show } from '../harness/history.ts'
import { Mortal } from '../harness/mortal.ts'
import { inLife } from '../harness/world.ts'
import { crowdOf } from './callers/crowd.ts'
import { carryOut, currentOperation, type Outcome, startOperation } from './callers/operation.ts'

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

const HOUR_MS = 3_600_000
const secret = new TextEncoder().encode('the secret of a simulation')

/** What one life of a process has: its limiter, and which state of each row it has heard of last. */
type Service = { readonly limits: RateLimits; readonly known: ReadonlyMap<string, number> }

/** A process with a limiter, which does what callers ask of it. */
class RateProcess extends Mortal<Service> {
  readonly #joining: Joining
  readonly #rows: RateRows
  readonly #farOff: boolean

  constructor(
    joining: Joining,
    rows: RateRows,
    name: string,
    { farOff = false, clockJumps = joining.profile.clockJumps } = {},
  ) {
    const { world, profile } = joining
    const options = { name, skewMaxMs: profile.skewMaxMs, clockJumps }
    super(world, options, ({ network, clock, random }) => {
      const offMs = farOff ? random.pick([-HOUR_MS, HOUR_MS]) : 0
      const known = new Map<string, number>()
      const limits = createRateLimits({
        tableName: world.store.tableName,
        dynamodb: noting(network.dynamodb, rows, known),
        secret,
        random: () => random.next(),
        clock: { nowMs: () => clock.nowMs() + offMs, sleep: clock.sleep },
      })
      return { limits, known }
    })
    this.#joining = joining
    this.#rows = rows
    this.#farOff = farOff
  }

  run(command: RateCommand, done: (call: RateCall, outcome: Outcome) => void): void {
    const { world, model } = this.#joining
    const { life } = this
    const { limits, known } = this.service
    const receivedMs = Math.floor(world.scheduler.nowMs)
    const operation = startOperation(model, life.name, { verb: 'list', queue: '' })
    const { patterns } = this.#rows
    const knew = known.get(patternsKey.sk) === patterns
    const call: RateCall = {
      command,
      operation,
      slots: [],
      farOff: this.#farOff,
      knows: (row) => known.get(row) === this.#rows.of(row).states.length,
      patterns: () => (knew && this.#rows.patterns === patterns ? patterns : undefined),
    }
    this.#rows.begin(call)
    world.history.add(life.name, () => `#${operation.id} ${show(command)}`)
    const finish = (outcome: Outcome): void => {
      if (life.dead) return
      world.history.add(life.name, () => `#${operation.id} → ${show(outcome)}`)
      done(call, outcome)
    }
    const atCommit = () => operation.startedAtCommit
    carryOut(operation, () => perform(limits, command, receivedMs), atCommit, finish)
  }
}

/** Notes which state of a row, and of the settings of prefixes, the process has heard of last. */
const noting = (network: DocumentSender, rows: RateRows, known: Map<string, number>) => ({
  send: async (command: { readonly input: { readonly Key?: Key } }) => {
    const { pk = '', sk } = command.input.Key ?? {}
    const { patterns } = rows
    const { states } = rows.of(pk)
    const [before, operation] = [states.length, currentOperation.getStore()]
    try {
      const answer = await network.send(command as never)
      const own = states.findIndex(({ by }, at) => at >= before && by === operation)
      known.set(pk, own < 0 ? before : own + 1)
      if (sk === patternsKey.sk && rows.hears(operation)) known.set(sk, patterns)
      return answer as never
    } catch (error) {
      if ((error as Error).name === 'ConditionalCheckFailedException') known.set(pk, before)
      throw error
    }
  },
})

/** `receivedMs`: when the gateway got it, which is the true time. */
function perform(limits: RateLimits, command: RateCommand, receivedMs: number): Promise<unknown> {
  const { verb } = command
  if (verb === 'admit') return limits.admit(command.key, { ...command.request, receivedMs })
  if (verb === 'state') return limits.state(command.key)
  const call = limits[verb] as (...request: unknown[]) => Promise<unknown>
  if ('patterns' in command) return call(command.patterns, { receivedMs })
  const of =
    'ticket' in command ? [command.ticket] : 'settings' in command ? [command.settings] : []
  return call(command.key, ...of, { receivedMs })
}

type RateProfile = ReturnType<typeof drawRates>

/** What the rate limits of one world are like, and who asks for them. */
function drawRates(random: Random) {
  const windowMillis = random.pick([100, 250, 1_000, 10_000, 60_000])
  const settings = [1, 2, 3].map(() => drawSettings(random, windowMillis))
  const others: Overrides[] = [
    { maxRequests: 3 },
    { maxRequests: 5, windowMillis: random.pick([windowMillis, 500]) },
    { maxRequestsInQueue: 2 },
  ]
  const overrides = random.chance(0.7) ? [] : others
  const lines = settings.map((one) => Math.floor(one.maxRequestsInQueue / one.shards))
  return {
    processes: random.between(1, 4),
    concurrency: random.pick([1, 1, 2, 3]),
    calls: random.between(10, 40),
    keys: random.chance(0.8) ? ['k'] : ['k', 'kk'],
    /** What keys and patterns are configured with: the first is there from the beginning, if any. */
    settings,
    configured: random.pick(['nothing', 'key', 'key', 'pattern']),
    changes: random.pick([0, 0.03, 0.1, 0.2]),
    overrides,
    waiting: random.pick([0, 0.3, 0.7, 1]),
    costs: random.pick([[1], [1], [1, 2], [1, 2, 3], [2]]),
    thinkMaxMs: random.pick([0, 5, windowMillis / 4, windowMillis, windowMillis * 2]),
    /** Now and then a caller rests so long. */
    restMs: random.pick([0, windowMillis * 3, windowMillis * 5 + 60_000, 1_800_000]),
    /** How many of those that are denied come back when they were told to. */
    patient: random.pick([0, 0.5, 1]),
    /** One process's clock is an hour off, and it knows the gateway's time. */
    farOff: random.chance(0.1),
    /** Rows go as soon as they may, or some day. */
    expiry: random.pick(['at once', 'late']),
    /** The shortest and the longest line that any settings allow; 400 without any. */
    lines: {
      min: Math.min(overrides.length > 0 ? 2 : 400, ...lines),
      max: Math.max(400, ...settings.map(({ maxRequestsInQueue }) => maxRequestsInQueue)),
    },
  }
}

function drawSettings(random: Random, windowMillis: number) {
  const smooth = random.chance(0.35)
  const shards = random.pick([1, 1, 1, 2])
  return {
    maxRequests: random.pick([3, 4, 5, 6, 10, 12]) * shards,
    maxRequestsInQueue: random.pick([0, 2, 6, 20, 1_000]),
    windowMillis: random.chance(0.7) ? windowMillis : random.pick([100, 400, 1_000, 5_000]),
    algorithm: smooth ? ('smooth' as const) : ('window' as const),
    burst: smooth ? random.pick([1, 1, 2, 3]) : 1,
    shards,
    allowOverrides: random.chance(0.7),
  }
}

/** Only a key's own configuration can split it. */
const forPrefix = (prefix: string, settings: SettingsInput): RateCommand => ({
  verb: 'configurePatterns',
  patterns: [{ prefix, settings: { ...settings, shards: 1, burst: 1 } }],
})

function firstCommands({ configured, keys, settings }: RateProfile): RateCommand[] {
  const first = settings[0] as SettingsInput
  if (configured === 'pattern') return [forPrefix('k', first)]
  const configure = (key: string): RateCommand => ({ verb: 'configure', key, settings: first })
  return configured === 'key' ? keys.map(configure) : []
}

function drawRateCommand(
  { keys, changes, settings, waiting, costs, overrides }: RateProfile,
  held: readonly HeldTicket[],
  random: Random,
): RateCommand {
  const key = random.pick(keys)
  if (random.chance(changes)) {
    const change = random.pick(settings)
    const kind = random.pick(['key', 'key', 'pattern', 'none'])
    if (kind === 'key') return { verb: 'configure', key, settings: change }
    return kind === 'none'
      ? { verb: 'unconfigure', key }
      : forPrefix(random.pick(['', 'k']), change)
  }
  if (held.length > 0 && random.chance(0.15)) {
    // Twice for some: a DELETE whose answer was lost is sent again.
    return { verb: random.chance(0.6) ? 'giveUp' : 'verify', ...random.pick(held.slice(-3)) }
  }
  if (random.chance(0.03)) return { verb: 'state', key }
  const request = {
    cost: random.pick(costs),
    canWait: random.chance(waiting),
    maxWaitMs: random.pick([0, 0, 1_000, 20_000]),
    ...(random.chance(0.5) && { caller: random.pick(['a', 'b', 'c', 'd']) }),
    ...(overrides.length > 0 && random.chance(0.4) && { overrides: random.pick(overrides) }),
  }
  return { verb: 'admit', key, request }
}
