import { mayBeGone, released, seen, taken } from './account/deliveries.ts'
import { answerOf, type Process, QUEUES, type World } from './world.ts'

/** Takes for good, over a network that works, by a clock that is wrong. */
export async function takeForGood(world: World): Promise<void> {
  const random = world.random.fork()
  const process = world.skewed()
  while (!world.isOver) {
    await world.sleep(10_000 * random.next())
    await take(world, process, random.pick(QUEUES), 1 + random.integer(40))
  }
}

/** Whether there may be more. */
export async function take(
  { account }: World,
  process: Process,
  queue: string,
  count: number,
): Promise<boolean> {
  const call = process.call()
  const outcome = await process.queues.pop(queue, { count, competing: true })
  if (outcome.kind === 'locked') return false
  if (outcome.kind === 'empty') return outcome.more === true
  seen(account, queue, outcome.items, process.answered(call))
  taken(
    account,
    queue,
    outcome.items.map(({ text }) => text),
  )
  return true
}

/** Locks what it can, and dies, loses answers, or settles: what it has had comes back, or not. */
export async function lock(world: World): Promise<void> {
  const random = world.random.fork()
  while (!world.isOver) {
    const process = world.faulty()
    for (let pops = 0; pops < 5 && !world.isOver; pops += 1) {
      await world.sleep(5_000 * random.next())
      await lockOnce(world, process, random.pick(QUEUES), random)
    }
  }
}

async function lockOnce(
  world: World,
  process: Process,
  queue: string,
  random: World['random'],
): Promise<void> {
  const { account } = world
  const call = process.call()
  const request = {
    count: 1 + random.integer(10),
    competing: random.chance(0.8),
    requireAck: true,
    ttlSeconds: 2 + random.integer(3),
  }
  const answer = await answerOf(world, process.queues.pop(queue, request))
  if (answer.kind !== 'answered' || answer.value.kind !== 'items') return
  const { items, lock: held } = answer.value
  seen(account, queue, items, process.answered(call))
  if (held === undefined || random.chance(0.35)) return
  await world.sleep(3_000 * random.next())
  const some = random.chance(0.4) ? items.slice(0, 1 + random.integer(items.length)) : items
  const texts = some.map(({ text }) => text)
  const settle = {
    lockId: held.id,
    ...(some.length < items.length && { ids: some.map(({ id }) => id) }),
  }
  if (random.chance(0.5)) {
    const done = await answerOf(world, process.queues.acknowledge(queue, settle))
    if (done.kind === 'answered') taken(account, queue, texts)
    else if (done.kind === 'unknown') mayBeGone(account, texts, 'acknowledged')
    return
  }
  const delaySeconds = random.integer(20)
  const fromMs = process.clockMs()
  const overtake = random.chance(0.3)
  const given = await answerOf(
    world,
    process.queues.release(queue, {
      ...settle,
      ...(delaySeconds > 0 && { delaySeconds, overtake }),
    }),
  )
  if (given.kind === 'answered') released(account, texts, fromMs + 1_000 * delaySeconds)
}
