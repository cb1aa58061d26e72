import { PRIORITIES_PER_PUSH_MAX } from '../../../shared/bounds.ts'
import { Random } from '../../../testing/random.ts'
import type { Command } from './actors/callers/command.ts'
import { crowdOf } from './actors/callers/crowd.ts'
import { drawCommand } from './actors/callers/draw-command.ts'
import { Knowledge, learn } from './actors/callers/knowledge.ts'
import type { Mix } from './actors/callers/mixes.ts'
import {
  drawPatterns,
  drawProfile,
  KEY_SECONDS,
  keysExpire,
  type Profile,
} from './actors/callers/profile.ts'
import { actors } from './actors/index.ts'
import { checkEnd } from './checkers/check-end.ts'
import { checkAllReadable } from './checkers/observer.ts'
import { partsOf } from './harness/actor.ts'
import { type Built, buildWorld } from './harness/build-world.ts'
import { Driver, drain } from './harness/drain.ts'
import { type Fault, noFaults, oddsOf } from './harness/faults.ts'
import { type History, show } from './harness/history.ts'
import { settlePatterns } from './harness/settle-patterns.ts'
import type { Statistics } from './harness/statistics.ts'
import type { World } from './harness/world.ts'

export type RunOptions = {
  readonly seed: number
  readonly operations: number
  readonly history?: boolean
  /** Actors that stay out. */
  readonly without?: readonly string[]
  /** Kinds of faults that do not happen. */
  readonly calm?: readonly Fault[]
}

export type RunResult = {
  readonly seed: number
  readonly violation: World['violation']
  readonly statistics: Statistics
  readonly history: History
}

/** What a seed's world is like, and by which seed its parts draw. */
export function drawWorld(seed: number) {
  const random = new Random(seed)
  const profile = drawProfile(random.fork())
  return { random, profile, worldSeed: random.between(1, 2 ** 31) }
}

/** One seed: its world, its operations, the drain, and the verdict. */
export async function runSeed(options: RunOptions): Promise<RunResult> {
  const { seed } = options
  const { random, profile, worldSeed } = drawWorld(seed)
  const built = buildWorld({ seed: worldSeed, history: options.history ?? false, profile })
  const { world, model, newWriter } = built
  const driver = new Driver(world)
  const joining = actors.filter(({ name }) => !options.without?.includes(name))
  const parts = partsOf(joining, { ...built, profile, driver })
  for (const part of parts) built.watch((change) => part.observe?.(change))
  world.history.add('', () => show(profile))
  const drainer = newWriter('drain')
  if (profile.patterned) {
    const patterns = drawPatterns(profile, new Random(seed))
    await driver.call(drainer, { verb: 'configurePatterns', queue: '', patterns, request: {} })
  }
  for (const { queue, ...request } of profile.queues) {
    if (Object.keys(request).length === 0) continue
    await driver.call(drainer, { verb: 'configure', queue, request })
  }
  if (profile.lanes > 0) {
    const priorities = Array.from({ length: profile.lanes }, (_, n) => n)
    for (let at = 0; at < profile.lanes; at += PRIORITIES_PER_PUSH_MAX) {
      const some = priorities.slice(at, at + PRIORITIES_PER_PUSH_MAX)
      const items = some.map((priority) => ({ text: `"lane ${priority}"`, priority }))
      await driver.call(drainer, { verb: 'push', queue: 'q0', request: { items } })
    }
  }

  world.odds = profile.faultFree ? noFaults : oddsOf(world.seed, profile.faults)
  world.odds = { ...world.odds, ...Object.fromEntries((options.calm ?? []).map((it) => [it, 0])) }
  for (const part of parts) part.start?.()
  const rest = () => {
    for (const part of parts) part.rest?.()
  }
  await work({ ...built, profile, driver, rest, random: random.fork() }, options.operations)
  await driver.until(() => parts.every((part) => part.isDone?.() ?? true))
  world.isCalm = true
  for (const part of parts) part.stop?.()
  world.odds = noFaults
  world.history.add('', () => 'faults are off')
  checkAllReadable(model)
  await driver.settle()
  for (const part of parts) await part.settle?.()

  const call = async (command: Command) => (await driver.call(drainer, command))?.outcome
  const ending = { model, driver, call }
  if (profile.patterned) {
    await settlePatterns({ ...ending, newWriter, profile, random: new Random(~seed) })
  }
  await drain(ending)
  if (world.violation === undefined) {
    checkEnd(model)
    for (const part of parts) part.checkEnd?.()
  }
  for (const name of world.crossings.met()) world.statistics.count(name)
  world.statistics.count('steps', world.scheduler.steps)
  world.statistics.count('commits', model.commits)
  const { violation, statistics, history } = world
  return { seed, violation, statistics, history }
}

type Work = Built & {
  readonly profile: Profile
  readonly driver: Driver
  readonly random: Random
  readonly rest: () => void
}

/** The eras: operations by all writers, then a rest in which only the sweeper runs. */
async function work(work: Work, operations: number): Promise<void> {
  const { world, newWriter, driver, profile, random, rest } = work
  const { scheduler, workedBy } = world
  const writers = Array.from({ length: profile.writers }, (_, i) => newWriter(`w${i + 1}`))
  const knowledge = new Knowledge()
  let mix: Mix = {}
  const draw = () =>
    drawCommand({ profile, knowledge, random, workedBy, nowMs: scheduler.nowMs }, mix)
  const crowd = crowdOf(world, writers, {
    concurrency: profile.concurrency,
    thinkMs: () => profile.thinkMaxMs * (world.random.chance(0.05) ? 20 : 1) * world.random.next(),
    act: (writer, done) =>
      writer.run(draw(), (operation) => {
        learn(knowledge, operation)
        done()
      }),
  })
  for (const era of profile.eras) {
    mix = era.mix
    world.history.add('', () => `an era of ${show(mix)}, then a rest of ${era.restMs} ms`)
    crowd.start(Math.ceil(operations / profile.eras.length))
    await driver.until(crowd.isDone)
    if (keysExpire(world.seed)) await letKeysExpire(work, knowledge)
    if (era.restMs === 0) continue
    await driver.advance(era.restMs / 2)
    rest()
    await driver.advance(era.restMs / 2)
    // The next era begins while the sweeper is at work and forgets empty queues.
    rest()
    rest()
    await driver.advance(random.next() * 30 * profile.latencyMaxMs)
  }
}

/** Their time, the hour by which clocks may differ, and the minutes that a request may be late. */
const REST_MS = (KEY_SECONDS + 90 * 60) * 1_000

/** Some of their notes are receipts by then, and others are still in the record. */
async function letKeysExpire({ world, model, driver, rest }: Work, knowledge: Knowledge) {
  await driver.advance(REST_MS)
  if (world.seed % 8 === 1) rest()
  world.history.add('', () => 'the time of all keys is over')
  world.statistics.count('path keys expired')
  knowledge.forgetPushKeys()
  model.ledger.keyLife += 1
}
