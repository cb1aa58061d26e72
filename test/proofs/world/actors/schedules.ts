import { schedulesPartition } from '../../../../engine/core/keys.ts'
import { definitionOf } from '../../../../engine/core/schedule.ts'
import type { Missed, ScheduleInput } from '../../../../engine/queues.ts'
import { timesOf } from '../../../../engine/verbs/push-due.ts'
import type { Random } from '../../../../testing/random.ts'
import { type Account, newAccount, wrongWith } from '../checkers/check-schedules.ts'
import type { Joining, Part } from '../harness/actor.ts'
import type { Command, PlainCallVerb } from './callers/command.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = 30_000
/** While faults last, there are few sweeps; the rest of the occurrences comes in the calm. */
const SWEEPS_MAX = 6

type Told = 'made' | 'unknown' | 'refused'

const touches = ['nothing', 'nothing', 'puts', 'pauses', 'runs', 'deletes'] as const

/** Schedules of the callers' queues, a sweeper that comes for them, and callers who change them. */
export function schedules(joining: Joining): Part {
  const { random, world, profile, model, driver, newWriter, after, pause } = joining
  const { scheduler } = world
  const caller = newWriter('planner')
  const sweeper = newWriter('clock')
  const accounts: Account[] = []
  /** Of all that may be there, whether its caller knows or not. */
  const queues = new Set<string>()
  /** How often each schedule came to be, by the key of its row. */
  const lives = new Map<string, number>()
  let sweeps = 0
  let endMs = 0

  const sweep = (): void => {
    if (world.isCalm || sweeps === SWEEPS_MAX) return
    sweeps += 1
    sweeper.run({ verb: 'returnExpiredLocks', queue: '' })
    after(SWEEP_EVERY_MS, sweep)
  }

  /** Of a process that dies nobody hears: that is "unknown". */
  const call = (account: Account, verb: PlainCallVerb, ...rest: unknown[]): Promise<Told> =>
    new Promise((resolve) => {
      const { queue, name } = account
      const command = { verb, queue, rest: [name, ...rest] } as Command
      const told = (): void => {
        underWay.delete(told)
        const kind = operation.outcome?.kind
        resolve(kind === 'success' ? 'made' : kind === 'refused' ? kind : 'unknown')
      }
      const operation = caller.run(command, told)
      underWay.add(told)
    })
  const underWay = new Set<() => void>()
  caller.onCrash = () => {
    for (const told of underWay) told()
  }

  const insist = async (account: Account, verb: PlainCallVerb, ...rest: unknown[]) => {
    const untilMs = (account.input.startsAtMs ?? 0) - 10_000
    const isTooLate = () => verb === 'putSchedule' && scheduler.nowMs > untilMs
    while ((await call(account, verb, ...rest)) !== 'made') {
      // A put that nobody heard of may still land, behind all that comes later.
      if (verb === 'putSchedule') account.mayComeBack = true
      if (isTooLate()) return 'too late'
      await pause(2_000)
    }
    return isTooLate() ? 'too late' : 'made'
  }

  /** Puts it, and does to it what callers do; nothing more once the world is calm. */
  const work = async (name: string): Promise<void> => {
    const { queue } = random.pick(profile.queues)
    const input = drawInput(random, name, scheduler.nowMs)
    endMs = Math.max(endMs, input.endsAtMs ?? 0)
    const account = newAccount(queue, name, input)
    queues.add(queue)
    const mayPush = (text: string): void => {
      account.texts.add(text)
      model.ledger.announceSchedule(queue, text, ({ dueMs, pushedAtMs }) => {
        const life = lives.get(`${schedulesPartition(queue)} ${name}`) ?? 0
        if (dueMs === undefined) account.runs.found += 1
        else account.found.push({ dueMs, pushedAtMs, text, life })
      })
    }
    mayPush(input.text)
    if ((await insist(account, 'putSchedule', input)) === 'too late') {
      // Nobody knows whether it was put in time to be due.
      return world.history.add('planner', () => `${name} may be there or not`)
    }
    accounts.push(account)
    const touch = random.pick(touches)
    await pause(40_000 * random.next())
    if (world.isCalm) return
    if (touch === 'puts') {
      const text = random.chance(0.5) ? input.text : `${input.text.slice(0, -1)} again"`
      mayPush(text)
      await call(account, 'putSchedule', { ...input, text })
    } else if (touch === 'runs') {
      const ran = await call(account, 'runSchedule')
      if (ran !== 'refused') account.runs[ran] += 1
    } else if (touch === 'deletes') {
      account.mayBeDeleted = true
      await insist(account, 'deleteSchedule')
      if (!account.mayComeBack) account.deletedMs = scheduler.nowMs
    } else if (touch === 'pauses') {
      const fromMs = scheduler.nowMs
      await call(account, 'pauseSchedule')
      await pause(120_000 * random.next())
      await insist(account, 'resumeSchedule')
      account.paused.push({ fromMs, toMs: scheduler.nowMs })
    }
  }

  return {
    start() {
      const count = random.between(1, 3)
      for (let number = 0; number < count; number += 1) void work(`s${number}`)
      after(SWEEP_EVERY_MS * random.next(), sweep)
    },
    observe({ pk, sk, oldItem }) {
      if (oldItem === undefined && pk.startsWith('schedules#')) {
        lives.set(`${pk} ${sk}`, (lives.get(`${pk} ${sk}`) ?? 0) + 1)
      }
    },
    async settle() {
      const well = newWriter('calm')
      await driver.makeRoom(well, queues)
      const untilMs = Math.max(endMs, scheduler.nowMs) + 3 * MINUTE_MS
      await driver.sweepUntil(well, untilMs, SWEEP_EVERY_MS)
      await driver.settle()
      for (const account of accounts) {
        const wrong = wrongWith(account, await duesOf(account))
        for (const what of wrong) world.violated('a schedule pushes each occurrence once', what)
      }
    },
  }
}

async function duesOf({ input }: Account): Promise<readonly number[]> {
  const startsAtMs = input.startsAtMs ?? 0
  const times = await timesOf(definitionOf(input, undefined, startsAtMs - 1))
  const dues: number[] = []
  for (let at = times.from(startsAtMs); at !== undefined; at = times.from(at + 1)) dues.push(at)
  return dues
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
