import { buried } from './account/deliveries.ts'
import { pushed, pushing } from './account/pushes.ts'
import { verdict } from './account/verdict.ts'
import { change, moveAbout } from './change.ts'
import { lock, take, takeForGood } from './pop.ts'
import { DELAY_SECONDS_MAX, produce } from './push.ts'
import { answerOf, createWorld, QUEUES, type World } from './world.ts'

/** Long after everything is due and every lock has ended, and then until the queues are forgotten. */
const END_MS = 15 * 60_000
const FORGOTTEN_MS = 45 * 60_000
const RESTLESS = 0.08
/** Few seeds have a queue with as many priorities as it may have: its record is large, and they are slow. */
const WIDE = 0.002
const WIDE_LANES = 998
/** Each round lets as much join as there is room. */
const ROUNDS_MAX = 60

export type SeedResult = {
  readonly history: readonly string[]
  readonly violations: readonly string[]
}

/**
 * Producers that push for later, consumers that die, lose answers and have wrong clocks, some who cancel, move and
 * purge, and the sweeper, from one seed. No item may be handed out before its time, after its expiry, or under an id
 * that a call ended; and in the end each was taken once, cancelled once, or dead-lettered once, if it was pushed and
 * nobody may have purged it.
 */
export async function runSeed(seed: number): Promise<SeedResult> {
  const world = createWorld(seed)
  const { account, random, time, nowMs } = world
  const guard = (one: Promise<void>): Promise<void> =>
    one.catch((error: unknown) => account.violate(String((error as Error).stack)))

  // q1 keeps its first settings, so that it can be forgotten.
  const settings = {
    ...(random.chance(0.5) && { capacity: 3 + random.integer(20) }),
    ...(random.chance(0.4) && { expired: 'dead_letter' as const }),
  }
  const keepsExpired = new Set(settings.expired === undefined ? [] : ['q0'])
  const producing = {
    pushes: 4 + random.integer(8),
    fill: random.pick([4, 180, 180, 1_500]),
    expiring: random.chance(0.5) ? 0.3 : 0,
  }
  const changing = {
    pauseMs: random.pick([3_000, 10_000]),
    purging: random.chance(0.25) ? 0.08 : 0,
  }
  const isSwept = random.chance(0.7)

  let producersLeft = 0
  const start = async (): Promise<void> => {
    if (Object.keys(settings).length > 0) await world.well().queues.configure('q0', settings)
    if (random.chance(WIDE)) await widen(world, 'q1')
    for (const name of ['a', 'b']) {
      producersLeft += 1
      void guard(produce(world, name, producing)).then(() => {
        producersLeft -= 1
      })
    }
    void guard(takeForGood(world))
    void guard(lock(world))
    if (random.chance(0.5)) void guard(lock(world))
    void guard(change(world, changing))
    if (random.chance(0.3)) void guard(change(world, changing))
    if (random.chance(RESTLESS)) void guard(moveAbout(world, 100))
    if (isSwept) void guard(sweep(world))
  }
  void guard(start())
  await time.run(nowMs() + 1_000)
  while (producersLeft > 0 && account.violations.size === 0) await time.run(nowMs() + 10_000)
  await time.run(nowMs() + 1_000 * (DELAY_SECONDS_MAX + 15))
  world.isOver = true
  await time.run(nowMs() + END_MS / 2)
  let isDrained = false
  void guard(drain(world)).then(() => {
    isDrained = true
  })
  const lastMs = nowMs() + END_MS
  while (!isDrained && nowMs() < lastMs) await time.run(nowMs() + 60_000)
  if (!isDrained) account.violate('the queues are not drained')
  verdict(account, keepsExpired)
  void guard(forget(world))
  await time.run(nowMs() + FORGOTTEN_MS + 60_000)
  return { history: account.history, violations: [...account.violations] }
}

/** Nothing joins then that needs another lane. */
async function widen({ account, well }: World, queue: string): Promise<void> {
  const process = well()
  const items = Array.from({ length: WIDE_LANES }, (_, n) => ({
    text: JSON.stringify(`wide:${n}`),
    priority: 100 + n,
  }))
  const push = pushing(account, queue, items, process.clockMs())
  const { ids } = await process.queues.push(queue, { items })
  pushed(account, push, ids, process.clockMs())
}

async function sweep(world: World): Promise<void> {
  const random = world.random.fork()
  while (!world.isOver) {
    await world.sleep(20_000 * random.next())
    const { queues, clockMs } = random.chance(0.5) ? world.skewed() : world.faulty()
    await answerOf(world, queues.returnExpiredLocks({ deadlineMs: clockMs() + 30_000 }))
  }
}

async function drain(world: World): Promise<void> {
  const { account } = world
  const well = world.well()
  for (const queue of QUEUES) {
    let left = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS_MAX && left !== 0; round += 1) {
      while (await take(world, well, queue, 100));
      // What died of its expiry takes up room until it has moved.
      await well.queues.housekeep(queue)
      const { count, scheduledCount } = await well.queues.inspect(queue, { consistent: true })
      left = count + Math.abs(scheduledCount)
    }
    if (left !== 0) account.violate(`${queue} has ${left} items left`)
    const dead = `${queue}-deadletter`
    for (;;) {
      const outcome = await well.queues.pop(dead, { count: 100 })
      if (outcome.kind !== 'items') break
      buried(account, queue, outcome.items)
    }
  }
}

/** A queue without settings of its own is forgotten, and with it every row of what was scheduled. */
async function forget({ well, nowMs, sleep, store, account }: World): Promise<void> {
  const { queues } = well()
  for (let sweep = 0; sweep < 3; sweep += 1) {
    await queues.returnExpiredLocks({ deadlineMs: nowMs() + 60_000 })
    await sleep(FORGOTTEN_MS / 3)
  }
  const strays = [...store.items()]
    .map(({ pk }) => String(pk))
    .filter((pk) => pk.startsWith('t#q1#'))
  if (strays.length > 0) account.violate(`left over: ${strays.join()}`)
}
