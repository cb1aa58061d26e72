import { runQueue } from '../../../../lambdas/consumer/run-queue.ts'
import { createLog } from '../../../../lambdas/runtime/log.ts'
import { type AgainOptions, retryOf } from '../../../../shared/worker/retries.ts'
import { type Handler, noCounts } from '../../../../shared/worker/run.ts'
import type { Random } from '../../../../testing/random.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import { announcementsOf } from '../../../support/announcements.ts'
import { checkHandled, isWorkedOff } from '../checkers/check-consumers.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { sweepOf } from '../harness/drain.ts'
import { sendEvent } from '../harness/world.ts'
import type { Writer } from './callers/writer.ts'

const LOOK_EVERY_MS = 10_000
const REPEATS_MAX = 2
/** So long after all locks, delays and runs have ended, reminders included, which come an hour apart at last. */
const PATIENCE_MINUTES = 150

type Run = { readonly name: string; readonly failures: number }
type Environment = { readonly writer: Writer; busy: Run | undefined }

/**
 * A function of a user's that works a queue, on the real code of consumers. Its runs are as Lambda has them: an
 * environment handles one event at a time and keeps its engine, an event waits for a free one, a run is killed at the
 * end of its time, and what failed is repeated twice.
 */
export function consumer(joining: Joining): Part {
  const { random, profile, world, model, driver, newWriter, after } = joining
  const { scheduler, history, statistics } = world
  const { queue } = random.pick(profile.queues)
  if (random.chance(0.5)) world.workedBy.add(queue)
  /** Nobody else locks anything here: then every wait is for this consumer. */
  const isAlone = () => world.workedBy.has(queue)
  const competing = random.chance(0.4)
  const retry: AgainOptions = random.pick([
    {},
    { delays: ['3s', '20s'] },
    { delays: ['20s'], overtake: true },
    { backoff: { first: '2s', factor: 4 }, overtake: true },
  ])
  const settings = {
    batchSize: random.pick([1, 3, 10, 100]),
    lockTtlSeconds: random.pick([5, 30]),
    deliveriesMax: random.pick([Number.POSITIVE_INFINITY, 3]),
    retry: retryOf(retry),
    locks: competing ? random.between(1, 3) : 1,
    competing,
  }
  const timeoutMs = random.pick([10_000, 10_000, 30_000])
  const slowMs = random.pick([20, 500, 15_000])
  const failing = random.pick([0, 0, 0.2])
  const environmentsMax = random.between(1, 3)
  const environments: Environment[] = []
  /** Events that wait for a free one, by how often their runs have failed. */
  const waiting: number[] = []
  let runs = 0
  let underWay = 0
  /** A run was repeated for the last time, or one that had died acknowledged something after all. */
  let hasLostEvent = false
  let isOver = false

  const check = (): void => {
    if (waiting.length > 0 || underWay > 0) return
    if (environments.every(({ busy }) => busy === undefined)) checkHandled(model, queue)
  }
  const look = (): void => {
    if (world.isCalm || isOver) return
    check()
    after(LOOK_EVERY_MS, look)
  }
  const send = (failures: number, change?: Change): void =>
    sendEvent(world, change, (afterMs) => {
      underWay += 1
      after(afterMs, () => {
        underWay -= 1
        waiting.push(failures)
        next()
      })
    })
  const next = (): void => {
    const free = environments.find(({ busy }) => busy === undefined) ?? newEnvironment()
    const failures = free && waiting.shift()
    if (free === undefined || failures === undefined) return
    run(free, failures)
    next()
  }
  const newEnvironment = (): Environment | undefined => {
    const number = environments.length + 1
    if (number > environmentsMax) return undefined
    const writer = newWriter(`run${number}`)
    const environment: Environment = { writer, busy: undefined }
    writer.onCrash = () => fail(environment, environment.busy, 'died')
    environments.push(environment)
    return environment
  }
  const run = (environment: Environment, failures: number): void => {
    const { writer } = environment
    runs += 1
    const its: Run = { name: `run ${runs}`, failures }
    environment.busy = its
    history.add(writer.life.name, () => `${its.name} begins`)
    const endMs = scheduler.nowMs + timeoutMs
    scheduler.at(endMs, 1, true, () => {
      if (environment.busy === its) writer.crash()
    })
    const clock = {
      nowMs: () => Math.floor(scheduler.nowMs),
      sleep: (ms: number, signal?: AbortSignal) => writer.sleep(ms, signal),
    }
    // Once the world is calm it is healthy, so that what is left comes to its end.
    const work = (share: number) => clock.sleep(share * (world.isCalm ? 20 : slowMs))
    const handler = handlerOf(random, work, () => (world.isCalm ? 0 : failing))
    const remainingMs = () => endMs - scheduler.nowMs
    const log = createLog({
      level: 'warn',
      service: 'world',
      write: (line) => history.add(writer.life.name, () => line.slice(0, 200)),
    })
    const callNext = async () => {
      await clock.sleep(20 * random.next())
      send(0)
    }
    runQueue(
      { queue, settings, counts: noCounts(), remainingMs, handler },
      { queues: writer.asQueues(), clock, random: () => random.next(), log, callNext },
    ).then(
      (ending) => {
        statistics.count(`path run ended ${ending}`)
        end(environment, its, ending)
      },
      (error: unknown) => fail(environment, its, `failed: ${error}`),
    )
  }
  const end = (environment: Environment, its: Run, how: string): void => {
    if (environment.busy !== its) return
    history.add(environment.writer.life.name, () => `${its.name} ends: ${how}`)
    environment.busy = undefined
    after(0, next)
  }
  /** Repeated as Lambda repeats asynchronous calls. */
  const fail = (environment: Environment, its: Run | undefined, how: string): void => {
    if (its === undefined || environment.busy !== its) return
    end(environment, its, how)
    if (its.failures === REPEATS_MAX) hasLostEvent = true
    else after(1_000, () => send(its.failures + 1))
  }

  return {
    start() {
      history.add('', () => `a consumer of ${queue}: ${JSON.stringify(settings)}`)
      // Events do not get lost, runs do not die, and nobody else keeps anything back.
      if (isAlone() && world.faultFree) look()
    },
    observe(change) {
      if (isOver || change.pk !== `q#${queue}`) return
      const { command, outcome } = model.operation ?? {}
      // The next run has found the queue locked. Now the lock's end is no event, and who made it does not go on.
      if (command?.verb === 'acknowledge' && outcome?.kind === 'crashed') hasLostEvent = true
      if (announcementsOf(change).some(({ kind }) => kind === 'items-available')) send(0, change)
    },
    async settle() {
      const isOff = () => world.violation !== undefined || isWorkedOff(model.queue(queue))
      const sweeper = newWriter('minute')
      for (let minute = 0; minute < PATIENCE_MINUTES && !isOff(); minute += minute < 20 ? 1 : 10) {
        await driver.call(sweeper, sweepOf(world))
        await driver.advance(minute < 20 ? 60_000 : 600_000)
        const isTold = !hasLostEvent && profile.faults['event-missed'] === 0
        if (isAlone() && isTold) check()
      }
      await driver.settle()
      if (!isOff()) world.violated('what is free is handled', `${queue} is left alone`)
      isOver = true
    },
  }
}

/** A user's code: it works for a while, longer in a few cases, and fails in every way that a handler has. */
export const handlerOf =
  (random: Random, work: (share: number) => Promise<void>, failing: () => number): Handler =>
  async (items, context) => {
    await work(random.next() ** 4)
    if (!random.chance(failing())) return undefined
    const some = items.filter(() => random.chance(0.5))
    const how = random.pick(['throws', 'names', 'releases', 'condemns'] as const)
    if (how === 'throws') throw new Error('The handler failed')
    if (how === 'names') return { failed: some.map(({ id }) => id) }
    for (const item of some) {
      if (how === 'releases') context.release(item)
      else context.deadLetter(item, 'poison')
    }
    return undefined
  }
