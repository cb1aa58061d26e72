import { cancelled, moved, moving } from './account/changes.ts'
import { mayBeGone } from './account/deliveries.ts'
import type { Call } from './account/fate.ts'
import { shown } from './account/listings.ts'
import { purged, purgeUnknown, purging } from './account/purges.ts'
import { DELAY_SECONDS_MAX } from './push.ts'
import { answerOf, type Process, QUEUES, type World } from './world.ts'

// Cancels, moves and purges, by ids of everything that there is and was.

export type Changing = {
  readonly pauseMs: number
  readonly purging: number
}

/** Ids that nobody has got, and that ours could be. */
const NOBODYS = ['t-s43qtc-0-AAAAAAAA', 't-s43qtc-2-AAAAAAAA-1', 'AAAAAAAA-0-0', 'AAAAAAAA-1-5']
const REMEMBERED = 30

export async function change(world: World, { pauseMs, purging }: Changing) {
  const random = world.random.fork()
  /** Of what may be gone by now. */
  const old: string[] = [...NOBODYS]
  while (!world.isOver) {
    await world.sleep(pauseMs * random.next())
    const process = random.chance(0.5) ? world.skewed() : world.faulty()
    const queue = random.pick(QUEUES)
    if (random.chance(purging)) {
      await purge(world, process, queue)
      continue
    }
    const shown = await idsIn(world, process, queue, random)
    const some = shown.filter(() => random.chance(0.2))
    if (random.chance(0.4)) some.push(random.pick(old), random.pick(old))
    const ids = random.chance(0.8) ? [...new Set(some)] : some
    if (ids.length === 0) continue
    if (random.chance(0.6)) await move(world, process, queue, ids, random)
    else await cancel(world, process, queue, ids)
    old.push(...ids)
    old.splice(0, Math.max(0, old.length - REMEMBERED))
  }
}

/** Moves one item a call, again and again: what is scheduled beside it is sealed far behind. */
export async function moveAbout(world: World, moves: number): Promise<void> {
  const random = world.random.fork()
  const queue = random.pick(QUEUES)
  for (let n = 0; n < moves && !world.isOver; n += 1) {
    await world.sleep(600 * random.next())
    const process = world.skewed()
    const call = process.call()
    const mayBeOld = world.isSettling()
    const { items } = await process.queues.scheduled(queue, { limit: 5 })
    shown(world.account, queue, items, call, mayBeOld)
    const last = items.at(-1)
    if (last !== undefined) await move(world, process, queue, [last.id], random)
  }
}

/** Of a page of what is scheduled, and of what is in the lanes. */
async function idsIn(
  world: World,
  process: Process,
  queue: string,
  random: World['random'],
): Promise<string[]> {
  const { account } = world
  const ids: string[] = []
  if (random.chance(0.9)) {
    const fromMs = random.chance(0.3) ? process.clockMs() + 1_000 * random.integer(30) : undefined
    const call: Call = process.call()
    const limit = 1 + random.integer(20)
    const mayBeOld = world.isSettling()
    const page = await answerOf(world, process.queues.scheduled(queue, { limit, fromMs }))
    if (page.kind === 'answered') {
      shown(account, queue, page.value.items, call, mayBeOld)
      ids.push(...page.value.items.map(({ id }) => id))
    }
  }
  if (random.chance(0.6)) {
    const call: Call = process.call()
    const limit = 1 + random.integer(20)
    const mayBeOld = world.isSettling()
    const page = await answerOf(world, process.queues.browse(queue, { limit }))
    if (page.kind === 'answered') {
      shown(account, queue, page.value.items, call, mayBeOld)
      ids.push(...page.value.items.map(({ id }) => id))
    }
  }
  return ids
}

async function cancel(world: World, process: Process, queue: string, ids: readonly string[]) {
  const { account } = world
  const call = process.call()
  const answer = await answerOf(world, process.queues.cancel(queue, ids))
  if (answer.kind === 'answered') cancelled(account, queue, answer.value, process.answered(call))
  else if (answer.kind === 'unknown') mayBeGone(account, textsOf(world, ids), 'cancelled')
}

const textsOf = ({ account }: World, ids: readonly string[]): string[] =>
  ids.flatMap((id) => account.fateOf(id)?.item.text ?? [])

async function move(
  world: World,
  process: Process,
  queue: string,
  ids: readonly string[],
  random: World['random'],
): Promise<void> {
  const { account } = world
  const isScheduled = ids.every((id) => id.startsWith('t-'))
  const to = random.chance(0.4) ? random.pick(QUEUES) : undefined
  const priority = random.chance(0.4) ? random.integer(4) : undefined
  const isLater = random.chance(isScheduled ? 0.6 : 0.4) || (to ?? priority) === undefined
  const laterMs = process.clockMs() - 3_000 + 1_000 * random.integer(DELAY_SECONDS_MAX)
  const deliverAtMs = isLater ? laterMs + random.integer(1_000) : undefined
  const place = { queue: to ?? queue, ...(deliverAtMs !== undefined && { dueMs: deliverAtMs }) }
  const call = process.call()
  moving(account, ids, place)
  const asked = process.queues.move(queue, { ids, queue: to, priority, deliverAtMs })
  const answer = await answerOf(world, asked)
  const results = answer.kind === 'answered' ? answer.value : []
  moved(
    account,
    queue,
    ids,
    answer.kind === 'unknown' ? undefined : results,
    place,
    process.answered(call),
  )
}

async function purge(world: World, process: Process, queue: string) {
  const { account } = world
  const there = purging(account, queue)
  const moves = there.map((fate) => fate.moves)
  const answer = await answerOf(world, process.queues.purge(queue))
  if (answer.kind === 'answered') purged(account, queue, there, moves)
  else if (answer.kind === 'unknown') purgeUnknown(account, queue)
}
