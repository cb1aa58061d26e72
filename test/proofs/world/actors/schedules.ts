import { definitionOf } from '../../../../lambdas/engine/core/schedule.ts'
import { timesOf } from '../../../../lambdas/engine/operations/scheduling/times-of.ts'
import type { Missed, ScheduleInput } from '../../../../lambdas/engine/queues.ts'
import type { Random } from '../../../../testing/random.ts'
import { Account, wrongWith } from '../checkers/check-schedules.ts'
import type { Joining, Part } from '../harness/actor.ts'
import type { Command, PlainCallVerb } from './callers/command.ts'
import type { Outcome } from './callers/operation.ts'
import type { Writer } from './callers/writer.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = 30_000
/** While faults last, there are few sweeps; the rest of the occurrences comes in the calm. */
const SWEEPS_MAX = 6

type Told = 'made' | 'unknown' | 'refused'

const touches = ['nothing', 'nothing', 'puts', 'pauses', 'runs', 'deletes'] as const

/** Schedules of the callers' queues, a sweeper that comes for them, and callers who change them. */
export class Schedules implements Part {
  readonly #joining: Joining
  readonly #caller: Writer
  readonly #sweeper: Writer
  readonly #accounts: Account[] = []
  /** Of all that may be there, whether its caller knows or not. */
  readonly #queues = new Set<string>()
  #sweeps = 0
  #isCalm = false
  #endMs = 0

  constructor(joining: Joining) {
    this.#joining = joining
    this.#caller = joining.newWriter('planner')
    this.#sweeper = joining.newWriter('clock')
  }

  get #nowMs(): number {
    return this.#joining.world.scheduler.nowMs
  }

  start(): void {
    const { random } = this.#joining
    const count = random.between(1, 3)
    for (let number = 0; number < count; number += 1) void this.#work(`s${number}`)
    this.#joining.after(SWEEP_EVERY_MS * random.next(), () => this.#sweep())
  }

  stop(): void {
    this.#isCalm = true
  }

  async settle(): Promise<void> {
    const { driver, newWriter, world } = this.#joining
    const well = newWriter('calm')
    // A full queue keeps occurrences waiting: now there is room.
    for (const queue of this.#queues) {
      await driver.call(well, { verb: 'configure', queue, request: { capacity: null } })
    }
    const untilMs = Math.max(this.#endMs, world.scheduler.nowMs) + 3 * MINUTE_MS
    while (world.scheduler.nowMs < untilMs && world.violation === undefined) {
      await driver.call(well, { verb: 'returnExpiredLocks', queue: '' })
      await driver.advance(SWEEP_EVERY_MS)
    }
    await driver.settle()
    for (const account of this.#accounts) {
      const wrong = wrongWith(account, await this.#duesOf(account))
      for (const what of wrong) world.violated('a schedule pushes each occurrence once', what)
    }
  }

  /** Puts it, and does to it what callers do; nothing more once the world is calm. */
  async #work(name: string): Promise<void> {
    const { random, profile, model } = this.#joining
    const { queue } = random.pick(profile.queues)
    const input = drawInput(random, name, this.#nowMs)
    this.#endMs = Math.max(this.#endMs, input.endsAtMs ?? 0)
    const account = new Account(queue, name, input)
    this.#queues.add(queue)
    const mayPush = (text: string): void => {
      account.texts.add(text)
      model.ledger.announceSchedule(queue, text, ({ dueMs, pushedAtMs }) => {
        account.found.push({ dueMs, pushedAtMs, text })
      })
    }
    mayPush(input.text)
    if ((await this.#insist(account, 'putSchedule', input)) === 'too late') {
      model.world.history.add('planner', () => `${name} may be there or not`)
      // Nobody knows whether it was put in time to be due.
      account.deletedMs = 0
      return
    }
    this.#accounts.push(account)
    const touch = random.pick(touches)
    await this.#sleep(40_000 * random.next())
    if (this.#isCalm) return
    if (touch === 'puts') {
      const text = random.chance(0.5) ? input.text : `${input.text.slice(0, -1)} again"`
      mayPush(text)
      await this.#call(account, 'putSchedule', { ...input, text })
    } else if (touch === 'runs') {
      const ran = await this.#call(account, 'runSchedule')
      if (ran !== 'refused') account.runs[ran] += 1
    } else if (touch === 'deletes') {
      account.mayBeDeleted = true
      await this.#insist(account, 'deleteSchedule')
      if (!account.mayComeBack) account.deletedMs = this.#nowMs
    } else if (touch === 'pauses') {
      const fromMs = this.#nowMs
      await this.#call(account, 'pauseSchedule')
      await this.#sleep(120_000 * random.next())
      await this.#insist(account, 'resumeSchedule')
      account.paused.push({ fromMs, toMs: this.#nowMs })
    }
  }

  async #insist(account: Account, verb: PlainCallVerb, ...rest: unknown[]): Promise<string> {
    const untilMs = (account.input.startsAtMs ?? 0) - 10_000
    const isTooLate = () => verb === 'putSchedule' && this.#nowMs > untilMs
    while ((await this.#call(account, verb, ...rest)) !== 'made') {
      // A put that nobody heard of may still land, behind all that comes later.
      if (verb === 'putSchedule') account.mayComeBack = true
      if (isTooLate()) return 'too late'
      await this.#sleep(2_000)
    }
    return isTooLate() ? 'too late' : 'made'
  }

  /** Of a process that dies nobody hears: that is "unknown". */
  #call({ queue, name }: Account, verb: PlainCallVerb, ...rest: unknown[]): Promise<Told> {
    const writer = this.#caller
    return new Promise((resolve) => {
      const told = (outcome: Outcome | undefined): void => {
        if (outcome?.kind === 'success') resolve('made')
        else resolve(outcome?.kind === 'refused' ? 'refused' : 'unknown')
      }
      const command = { verb, queue, rest: [name, ...rest] } as Command
      const operation = writer.run(command, ({ outcome }) => told(outcome))
      writer.onCrash = () => told(operation.outcome)
    })
  }

  #sweep(): void {
    if (this.#isCalm || this.#sweeps === SWEEPS_MAX) return
    this.#sweeps += 1
    this.#sweeper.run({ verb: 'returnExpiredLocks', queue: '' }, () => {})
    this.#joining.after(SWEEP_EVERY_MS, () => this.#sweep())
  }

  /** All times at which it should have been due. */
  async #duesOf({ input }: Account): Promise<readonly number[]> {
    const startsAtMs = input.startsAtMs ?? 0
    const times = await timesOf(definitionOf(input, undefined, startsAtMs - 1))
    const dues: number[] = []
    for (let next = times.from(startsAtMs); next !== undefined; next = times.from(next + 1)) {
      dues.push(next)
    }
    return dues
  }

  /** The planner outlives the process that asks. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#joining.after(ms, resolve))
  }
}

function drawInput(random: Random, name: string, nowMs: number): ScheduleInput {
  const startsAtMs = (Math.ceil(nowMs / SECOND_MS) + random.between(30, 60)) * SECOND_MS
  return {
    ...(random.chance(0.6)
      ? { everySeconds: random.pick([15, 45, 60]) }
      : { cron: random.pick(['*/2 * * * *', '* * * * *']), timeZone: 'Europe/Berlin' }),
    text: `"schedule ${name}${'.'.repeat(random.pick([0, 0, 1_500]))}"`,
    priority: random.integer(2),
    missed: random.pick(['skip', 'one', 'all'] as const satisfies readonly Missed[]),
    startsAtMs,
    endsAtMs: startsAtMs + random.between(1, 5) * MINUTE_MS,
  }
}
