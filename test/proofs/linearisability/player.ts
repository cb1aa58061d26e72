// What one process does to one queue: a few operations chosen by a seed, with pauses between them,
// some of them on a bad network.

import type { Random } from '../../../testing/random.ts'
import type { Fault, Lossy } from './lossy-client.ts'
import type { HeldLock, Recorder } from './recorder.ts'

/** What the histories of a queue are like. */
export type Style = {
  readonly popping: 'exclusive' | 'competing' | 'both'
  readonly priorities: readonly number[]
  /** The size of an item; the larger, the sooner items move to chunks and to S3. */
  readonly characters: number
  readonly ttlSeconds: number
  /** Share of the operations that lose an answer or a request. */
  readonly lossy: number
  /** Pauses between operations, and before each request. */
  readonly pauseMs: number
  readonly requestDelayMs: number
  /** Longest time that a lock is held: past its end in histories with short locks. */
  readonly holdMs: number
  readonly purging: boolean
  readonly burying: boolean
  readonly keyed: boolean
  /** Pops without acknowledgement too. */
  readonly taking: boolean
  /** Items are scheduled too, cancelled and moved, by their ids. */
  readonly byId: boolean
}

export type Play = {
  readonly style: Style
  readonly operations: number
  readonly worker: string
  readonly random: Random
  readonly recorder: Recorder
  readonly lossy: Lossy | undefined
}

type Step = {
  readonly weight: number
  readonly possible: boolean
  readonly run: () => Promise<void>
}

export async function play({
  style,
  operations,
  worker,
  random,
  recorder,
  lossy,
}: Play): Promise<void> {
  let held: HeldLock[] = []
  const over: string[] = []
  let named = 0
  let keys = 0

  const newItems = (count: number) =>
    Array.from({ length: count }, () => ({
      name: `${worker}-${named++}`,
      priority: random.pick(style.priorities),
    }))
  const holding = () => held.length > 0
  const forget = (lock: HeldLock) => {
    held = held.filter((it) => it !== lock)
    over.push(lock.id)
  }
  const isCompeting = () =>
    style.popping === 'competing' || (style.popping === 'both' && random.chance(0.7))

  async function push(count: number) {
    const items = newItems(count)
    const key = style.keyed && random.chance(0.6) ? `${worker}-k${keys++}` : undefined
    const outcome = await recorder.push(items, key)
    // With its key a push may be repeated, and has one effect.
    if (outcome === 'unknown' && key !== undefined) await recorder.push(items, key)
  }

  async function pushLater() {
    const later = random.pick(['soon', 'soon', 'never'] as const)
    await recorder.push(newItems(1).map((item) => ({ ...item, later })))
  }

  async function cancel() {
    const items = recorder.known(12)
    if (items.length > 0) await recorder.cancel(some(items, 1 + random.integer(3)))
  }

  async function move() {
    const items = recorder.known(12)
    if (items.length > 0) await recorder.move(random.pick(items), random.pick(style.priorities))
  }

  function some<T>(of: readonly T[], count: number): readonly T[] {
    return [...new Set(Array.from({ length: count }, () => random.pick(of)))]
  }

  async function pop(requireAck: boolean) {
    const lock = held[0]
    const acknowledge = requireAck && lock !== undefined && random.chance(0.5)
    const key =
      style.keyed && requireAck && !acknowledge && random.chance(0.3)
        ? `${worker}-k${keys++}`
        : undefined
    const request = {
      count: 1 + random.integer(3),
      requireAck,
      competing: isCompeting(),
      ...(requireAck && { ttlSeconds: style.ttlSeconds }),
      ...(acknowledge && { acknowledge: lock.id }),
      ...(key !== undefined && { idempotencyKey: key }),
    }
    let popped = await recorder.pop(request)
    if (popped.kind === 'unknown' && key !== undefined) popped = await recorder.pop(request)
    if (acknowledge && popped.kind !== 'locked') forget(lock)
    if (popped.kind === 'items' && popped.lock) {
      held.push(popped.lock)
      await sleep(random.next() * style.holdMs)
    }
  }

  async function settle(verb: 'acknowledge' | 'release' | 'deadLetter', whole = 0.7) {
    const lock = random.pick(held)
    if (random.chance(whole) || lock.items.length < 2) {
      const outcome = await recorder.settle(verb, lock)
      forget(lock)
      // The answer may be lost; a consumer would repeat the call.
      if (outcome === 'unknown' && verb === 'acknowledge') await recorder.settle(verb, lock)
      return
    }
    const [first, ...rest] = random.chance(0.5) ? lock.items : lock.items.toReversed()
    await recorder.settle(verb, lock, [first!.name])
    held = held.map((it) => (it === lock ? { ...lock, items: rest } : it))
  }

  const urgent = style.popping === 'exclusive' ? 4 : 1
  const steps = (): readonly Step[] => [
    { weight: 24, possible: true, run: () => push(1) },
    { weight: 8, possible: true, run: () => push(2 + random.integer(3)) },
    { weight: 3, possible: true, run: () => push(6 + random.integer(5)) },
    { weight: 28, possible: held.length < 3, run: () => pop(true) },
    { weight: 10, possible: style.taking, run: () => pop(false) },
    { weight: 14 * urgent, possible: holding(), run: () => settle('acknowledge') },
    { weight: 10 * urgent, possible: holding(), run: () => settle('release') },
    { weight: 8, possible: holding() && style.burying, run: () => settle('deadLetter') },
    {
      weight: 5,
      possible: held.length > 1,
      run: async () => {
        const locks = held
        await recorder.acknowledgeMany(locks.map(({ id }) => id))
        for (const lock of locks) forget(lock)
      },
    },
    {
      weight: 4,
      possible: holding(),
      run: () => recorder.extend(random.pick(held).id, style.ttlSeconds),
    },
    { weight: 6, possible: style.purging, run: () => recorder.purge() },
    {
      weight: 4,
      possible: style.purging,
      run: () => recorder.purge(random.pick(style.priorities)),
    },
    { weight: 8, possible: style.byId, run: pushLater },
    { weight: 30, possible: style.byId, run: cancel },
    { weight: 12, possible: style.byId, run: move },
    { weight: 4, possible: style.byId, run: async () => void (await recorder.listScheduled()) },
    { weight: 5, possible: true, run: () => recorder.inspect() },
    { weight: 3, possible: true, run: () => recorder.browse(1 + random.integer(20)) },
    { weight: 7, possible: true, run: async () => void (await recorder.housekeep()) },
    { weight: 3, possible: true, run: () => recorder.returnExpiredLocks() },
    {
      weight: 3,
      possible: over.length > 0,
      run: async () => {
        const lock = { id: random.pick(over) }
        await recorder.settle(random.pick(['acknowledge', 'acknowledge', 'release']), lock)
      },
    },
    {
      weight: 2,
      possible: true,
      run: async () => void (await recorder.settle('acknowledge', { id: 'AAAAAAAAAAA' })),
    },
  ]

  lossy?.delay(style.requestDelayMs > 0 ? () => random.next() * style.requestDelayMs : undefined)
  for (let n = 0; n < operations; n++) {
    await sleep(random.next() * style.pauseMs)
    if (lossy && random.chance(style.lossy)) lossy.arm(faults(random))
    await choose(steps(), random).run()
    lossy?.disarm()
  }
  // Some locks outlive their process.
  for (const lock of held) {
    if (random.chance(0.7)) await recorder.settle(random.pick(['acknowledge', 'release']), lock)
  }
  await lossy?.settled()
}

function faults(random: Random): readonly (Fault | undefined)[] {
  const before = Array.from({ length: random.integer(3) }, () => undefined)
  const fault: Fault = random.pick<Fault>([
    { kind: 'answer-lost' },
    { kind: 'answer-lost' },
    { kind: 'late', delayMs: random.integer(60) },
    { kind: 'request-lost' },
  ])
  return [...before, fault]
}

function choose(steps: readonly Step[], random: Random): Step {
  const possible = steps.filter((step) => step.possible)
  let left = random.next() * possible.reduce((sum, { weight }) => sum + weight, 0)
  for (const step of possible) {
    left -= step.weight
    if (left < 0) return step
  }
  return possible.at(-1)!
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
