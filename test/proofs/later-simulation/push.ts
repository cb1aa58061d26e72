import type { PushItem } from '../../../lambdas/engine/queues.ts'
import { pushed, pushing, refused, repeating } from './account/pushes.ts'
import type { Process, World } from './world.ts'
import { answerOf, QUEUES } from './world.ts'

export const DELAY_SECONDS_MAX = 30

export type Pushing = {
  readonly pushes: number
  /** How much longer than a short one an item may be. */
  readonly fill: number
  /** How many of the items expire. */
  readonly expiring: number
}

/** Pushes for now and for later, one process a push. Who has a key asks again, whatever the answer was. */
export async function produce(world: World, name: string, producing: Pushing): Promise<void> {
  const { account, sleep } = world
  const random = world.random.fork()
  for (let n = 0; n < producing.pushes; n += 1) {
    const process = random.chance(0.3) ? world.skewed() : world.faulty()
    const queue = random.pick(QUEUES)
    const size = random.next()
    const count = size < 0.75 ? 1 + random.integer(3) : size < 0.97 ? 5 + random.integer(15) : 60
    const items = Array.from({ length: count }, itemsOf(process, `${name}${n}`, random, producing))
    const idempotencyKey = random.chance(0.35) ? `${name}${n}` : undefined
    const push = pushing(account, queue, items, process.clockMs())
    for (let sending = 0; sending < (idempotencyKey === undefined ? 1 : 3); sending += 1) {
      // Some ask again when what they had pushed is due, or over.
      if (sending > 0) await sleep(random.chance(0.2) ? 40_000 * random.next() : 0)
      repeating(push)
      const request = { items, ...(idempotencyKey && { idempotencyKey }) }
      const answer = await answerOf(world, process.queues.push(queue, request))
      const clockMs = process.clockMs()
      if (answer.kind === 'answered') pushed(account, push, answer.value.ids, clockMs)
      else if (answer.kind === 'unknown') refused(account, push, 'unknown', clockMs)
      else refused(account, push, answer.error.code, clockMs)
    }
    await sleep(8_000 * random.next() * random.next())
  }
}

/** Makes one item after the other: a whole push for one time, or each for its own. */
function itemsOf(
  { clockMs }: Process,
  name: string,
  random: World['random'],
  { fill, expiring }: Pushing,
): (_: unknown, index: number) => PushItem {
  const alike = random.chance(0.5) ? 1 + random.integer(DELAY_SECONDS_MAX) : undefined
  return (_, index) => {
    const text = JSON.stringify(`${name}:${index}:${'x'.repeat(random.integer(fill))}`)
    const item = { text, priority: random.integer(3) }
    const kind = random.next()
    const delaySeconds = kind < 0.15 ? 0 : (alike ?? random.integer(DELAY_SECONDS_MAX))
    const expiry = random.chance(expiring) ? expiryOf(random, clockMs(), delaySeconds) : {}
    if (kind < 0.15) return { ...item, ...expiry }
    if (kind < 0.8) return { ...item, ...expiry, delaySeconds }
    const deliverAtMs = clockMs() + 1_000 * delaySeconds - 5_000 + random.integer(1_000)
    return { ...item, ...expiry, deliverAtMs }
  }
}

/** Mostly after it is due; what would expire before is refused. */
function expiryOf(random: World['random'], nowMs: number, delaySeconds: number) {
  const seconds = delaySeconds + 1 + random.integer(30)
  if (random.chance(0.5)) return { expiresInSeconds: seconds }
  return { expiresAtMs: nowMs + 1_000 * seconds + random.integer(1_000) }
}
