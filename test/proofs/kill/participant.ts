// One process of the kill test: a producer, a consumer or a keeper, until it is killed. It must
// start fast, so it imports nothing but the engine and its clients.

import { flushCompileCache } from 'node:module'
import type { PoppedItem as EngineItem, Queues } from '../../../engine/queues.ts'
import { connectEmbedded, type StoreEndpoints } from '../../../testing/embedded.ts'
import { Random } from '../../../testing/random.ts'
import { watchBackground } from '../linearisability/background.ts'
import { failureOf } from '../linearisability/failure.ts'
import { nameOf, textOf } from '../linearisability/recorder.ts'
import type { CreateQueues } from '../linearisability/worker.ts'
import { openJournal, type Settling } from './records.ts'

export type Role = 'producer' | 'consumer' | 'keeper' | 'warm-up'
export type KillQueue = { readonly name: string; readonly exclusive: boolean }
export type ParticipantSetting = StoreEndpoints & {
  readonly role: Role
  /** Unique to each process, not to its slot. */
  readonly name: string
  readonly seed: number
  readonly journal: string
  readonly engine: string
  readonly tableName: string
  readonly bucketName: string
  readonly queues: readonly KillQueue[]
  readonly ttlSeconds: number
  readonly characters: number
}

const setting = JSON.parse(process.argv[2] ?? '{}') as ParticipantSetting
const { name, characters, ttlSeconds } = setting
const random = new Random(setting.seed)
const { createQueues } = (await import(setting.engine)) as { createQueues: CreateQueues }
const { dynamodb, s3 } = connectEmbedded(setting)
const { tableName, bucketName } = setting
const journal = openJournal(setting.journal)
const background = watchBackground((text) => journal.write({ kind: 'fault', text }))
const { onBackgroundError } = background
const queues: Queues = createQueues({ tableName, bucketName, dynamodb, s3, onBackgroundError })

switch (setting.role) {
  case 'warm-up':
    flushCompileCache()
    dynamodb.destroy()
    s3.destroy()
    process.disconnect?.()
    break
  case 'producer':
    start(produce)
    break
  case 'consumer':
    start(consume)
    break
  case 'keeper':
    start(keep)
    break
  default:
    setting.role satisfies never
}

function start(role: () => Promise<void>) {
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
  role().catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
}

async function produce() {
  for (let made = 0; ; ) {
    const queue = random.pick(setting.queues).name
    const dice = random.next()
    const count = dice < 0.7 ? 1 : dice < 0.95 ? 2 + random.integer(5) : 20
    const items = Array.from({ length: count }, (_, index) => ({
      name: `${name}-${made + index}`,
      priority: random.integer(2),
    }))
    made += count
    const call = journal.write({ kind: 'intend', queue, items })
    try {
      await queues.push(queue, {
        items: items.map((item) => ({
          text: textOf(item.name, characters),
          priority: item.priority,
        })),
      })
      journal.write({ kind: 'pushed' }, call)
    } catch (error) {
      writeFailure(error, call)
    }
    await sleep(5 + random.next() * 20)
  }

  function writeFailure(error: unknown, call: number) {
    const failure = failureOf(error)
    if (failure.kind !== 'unknown') journal.write(failure, call)
  }
}

type Held = { readonly lockId: string; items: { readonly name: string; readonly id: string }[] }

async function consume() {
  for (;;) {
    const queue = random.pick(setting.queues)
    let held = await pop(queue, undefined)
    for (let round = 0; round < 5 && held !== undefined; round++) {
      // Now and then for too long.
      await sleep(random.chance(0.02) ? ttlSeconds * 1200 : random.next() * 10)
      held = random.chance(0.5) ? await pop(queue, held) : await settle(queue, held)
    }
    await sleep(random.next() * 5)
  }

  async function attempt<T>(call: number, run: () => Promise<T>): Promise<T | 'unknown' | 'no'> {
    try {
      return await run()
    } catch (error) {
      const failure = failureOf(error)
      if (failure.kind === 'unknown') return 'unknown'
      journal.write(failure, call)
      return 'no'
    }
  }

  /** Returns what the consumer holds afterwards. */
  async function pop(queue: KillQueue, held: Held | undefined): Promise<Held | undefined> {
    const acknowledge = held && settlingOf(held)
    const call = journal.write({
      kind: 'popping',
      queue: queue.name,
      ...(acknowledge && { acknowledge }),
    })
    const outcome = await attempt(call, () =>
      queues.pop(queue.name, {
        count: 1 + random.integer(10),
        requireAck: true,
        ttlSeconds,
        competing: !queue.exclusive,
        ...(held && { acknowledge: held.lockId }),
      }),
    )
    if (outcome === 'unknown') return held && settle(queue, held)
    if (outcome === 'no') return undefined
    const acknowledged = outcome.kind !== 'locked'
    if (outcome.kind !== 'items' || outcome.lock === undefined) {
      journal.write({ kind: 'popped', items: [], acknowledged }, call)
      await sleep(20 + random.next() * 40)
      return undefined
    }
    const items = outcome.items.map((item) => ({ ...view(item), id: item.id }))
    journal.write(
      {
        kind: 'popped',
        items,
        lockId: outcome.lock.id,
        ...(queue.exclusive && { exclusiveUntilMs: outcome.lock.expiresAtMs }),
        acknowledged,
      },
      call,
    )
    return { lockId: outcome.lock.id, items }
  }

  async function settle(queue: KillQueue, held: Held): Promise<Held | undefined> {
    const dice = random.next()
    if (dice < 0.08) return release(queue, held)
    if (dice < 0.2 && held.items.length > 1) {
      const [first, ...rest] = held.items
      await acknowledge(queue, { lockId: held.lockId, items: [first!] }, [first!.id])
      return { lockId: held.lockId, items: rest }
    }
    await acknowledge(queue, held)
    return undefined
  }

  async function acknowledge(queue: KillQueue, held: Held, ids?: readonly string[]) {
    const entry = { kind: 'acknowledging', queue: queue.name, settling: settlingOf(held) } as const
    const { lockId } = held
    for (let tries = 0; tries < 2; tries++) {
      const call = journal.write(entry)
      const outcome = await attempt(call, () =>
        queues.acknowledge(queue.name, { lockId, ...(ids && { ids }) }),
      )
      if (outcome === 'no') return
      if (outcome === 'unknown') continue
      journal.write({ kind: 'acknowledged' }, call)
      return
    }
  }

  async function release(queue: KillQueue, { lockId }: Held): Promise<undefined> {
    const call = journal.write({ kind: 'releasing', queue: queue.name, lockId })
    const outcome = await attempt(call, () => queues.release(queue.name, { lockId }))
    if (outcome !== 'no' && outcome !== 'unknown') journal.write({ kind: 'released' }, call)
  }
}

function view(item: EngineItem) {
  return { name: nameOf(item.text, characters), deliveries: item.deliveries }
}

function settlingOf({ lockId, items }: Held): Settling {
  return { lockId, names: items.map((item) => item.name) }
}

async function keep() {
  for (;;) {
    for (const queue of setting.queues) {
      await queues.housekeep(queue.name).catch(ignoreFailure)
      await sleep(random.next() * 20)
    }
    await queues.returnExpiredLocks().catch(ignoreFailure)
  }
}

function ignoreFailure(error: unknown) {
  const failure = failureOf(error)
  if (failure.kind === 'fault') journal.write(failure)
}

function sleep(ms: number) {
  return new Promise<void>((resolve) => setTimeout(resolve, ms))
}
