import type { QueueRecord } from '../../../../engine/core/record.ts'
import { decodeRecord, type StoredRecord } from '../../../../engine/core/stored-record.ts'
import { createQueues, type Queues } from '../../../../engine/queues.ts'
import { QueueError } from '../../../../shared/errors.ts'
import { seeded } from '../../../../testing/random.ts'
import { createSimulatedClient } from '../../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../../testing/simulated/store.ts'
import { naiveTransitions } from '../../../engine/core/naive-transitions.ts'
import { ManualClock } from '../../../engine/manual-clock.ts'

/** A write to a queue's record as it happened, and what it did, found item by item. */
export type Write = {
  readonly before: object | undefined
  readonly after: object | undefined
  readonly atMs: number
  readonly transitions: readonly string[]
}

type Traffic = {
  readonly writes: readonly Write[]
  readonly transitions: number
  /** What no event may hold: every payload begins so, and these are the locks. */
  readonly payload: string
  readonly lockIds: ReadonlySet<string>
}

const PAYLOAD = 'not for the bus'
const QUEUES = 40

/**
 * Pushes, pops and everything else by the engine on the simulated store, at random and by the seed,
 * until its records have seen so many transitions.
 */
export async function someTraffic(seed: number, transitionsMin: number): Promise<Traffic> {
  const clock = new ManualClock()
  const writes: Write[] = []
  let transitions = 0
  const store = new SimulatedStore({
    nowMs: () => clock.nowMs(),
    onChange({ pk, oldItem: before, newItem: after }) {
      if (!pk.startsWith('q#')) return
      const found = after === undefined ? [] : naiveTransitions(decoded(before), recordOf(after))
      transitions += found.length
      writes.push({ before, after, atMs: clock.nowMs(), transitions: found })
    },
  })
  const { dynamodb, s3 } = createSimulatedClient(store)
  const engine = (number: number): Queues =>
    createQueues({
      tableName: store.tableName,
      bucketName: store.bucketName,
      dynamodb: dynamodb as never,
      s3: s3 as never,
      clock,
      random: seeded(seed + number),
    })
  // Two that know nothing of each other, so that memory is wrong at times.
  const consumers = [engine(1), engine(2)].map((queues) => new Consumer(queues))
  const random = seeded(seed)
  for (let step = 0; transitions < transitionsMin; step += 1) {
    const queue = `queue-${Math.floor(random() * QUEUES)}`
    const consumer = consumers[Math.floor(random() * consumers.length)] as Consumer
    await consumer.act(random() < 0.1 ? `${queue}-deadletter` : queue, random)
    if (step % 3 === 0) clock.pass(Math.floor(random() * 1_500))
  }
  const lockIds = new Set(consumers.flatMap(({ seen }) => [...seen]))
  return { writes, transitions, payload: PAYLOAD, lockIds }
}

const recordOf = (row: object): QueueRecord => decodeRecord(row as StoredRecord)
const decoded = (row: object | undefined) => (row === undefined ? undefined : recordOf(row))

/** What consumers do, and the others; each refusal that a caller may meet is a matter of course. */
class Consumer {
  readonly seen = new Set<string>()
  readonly #queues: Queues
  readonly #held = new Map<string, { lockId: string; ids: string[] }[]>()
  #pushed = 0

  constructor(queues: Queues) {
    this.#queues = queues
  }

  async act(queue: string, random: () => number): Promise<void> {
    try {
      await this.#act(queue, random)
    } catch (error) {
      if (!(error instanceof QueueError)) throw error
    }
  }

  async #act(queue: string, random: () => number): Promise<void> {
    const queues = this.#queues
    const choice = random()
    const isDead = queue.endsWith('-deadletter')
    const held = this.#held.get(queue) ?? []
    if (choice < 0.25 && !isDead) {
      const items = Array.from({ length: 1 + Math.floor(random() ** 4 * 20) }, () => {
        this.#pushed += 1
        return {
          text: JSON.stringify(`${PAYLOAD} ${this.#pushed}`),
          priority: Math.floor(random() * 3),
        }
      })
      await queues.push(queue, { items })
    } else if (choice < 0.4) {
      await queues.pop(queue, { count: 1 + Math.floor(random() * 8) })
    } else if (choice < 0.7) {
      const popped = await queues.pop(queue, {
        count: 1 + Math.floor(random() * 8),
        requireAck: true,
        ttlSeconds: 1 + Math.floor(random() * 20),
        ...(random() < 0.8 && { competing: true }),
      })
      if (popped.kind !== 'items' || popped.lock === undefined) return
      this.seen.add(popped.lock.id)
      held.push({ lockId: popped.lock.id, ids: popped.items.map(({ id }) => id) })
      this.#held.set(queue, held)
    } else if (choice < 0.93) {
      const lock = held.splice(Math.floor(random() * held.length), 1)[0]
      if (lock === undefined) return
      const { lockId, ids } = lock
      const part = random() < 0.3 ? { ids: ids.slice(0, Math.ceil(ids.length / 2)) } : {}
      const how = random()
      if (how < 0.6) await queues.acknowledge(queue, { lockId, ...part })
      else if (how < 0.75) await queues.release(queue, { lockId, ...part })
      else if (how < 0.9) await queues.deadLetter(queue, { lockId, ...part, reason: 'no address' })
      else await queues.extend(queue, { lockId, ttlSeconds: 5 })
    } else if (choice < 0.95) {
      await queues.returnExpiredLocks()
    } else if (choice < 0.97) {
      await queues.housekeep(queue)
    } else if (choice < 0.98) {
      await queues.purge(queue, random() < 0.5 ? {} : { priority: 1 })
    } else if (choice < 0.99) {
      if (isDead) await queues.redrive(queue, { limit: 5 })
    } else {
      await queues.configure(queue, { maxDeliveries: 1 + Math.floor(random() * 3) })
    }
  }
}
