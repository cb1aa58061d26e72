// The engine as the scenarios use it: instances that share nothing but the stores, each behind clients with separate
// counters, and housekeeping as the table's stream would call it.

import { createQueues, type Queues } from '../engine/queues.ts'
import { QueueError } from '../shared/errors.ts'
import type { Bench, Store, StoreOptions } from './bench.ts'
import type { ItemGenerator } from './load.ts'
import { each, type Tally, total } from './meter.ts'
import type { StoredRow } from './metered-stores.ts'

export type Fixture = {
  readonly store: Store
  readonly queues: Queues
  readonly housekeeper: Housekeeper
  /** What housekeeping used. */
  readonly housekeeping: Store
}

export function openFixture(bench: Bench, options: StoreOptions = {}): Fixture {
  const background = bench.store({
    ...options,
    onRow: (row) => housekeeper.onRow(row),
  })
  const housekeepingQueues = openQueues(background)
  const housekeeper = createHousekeeper(() => housekeepingQueues)
  const store = bench.store({
    ...options,
    onRow(row) {
      housekeeper.onRow(row)
      options.onRow?.(row)
    },
  })
  return { store, queues: openQueues(store), housekeeper, housekeeping: background }
}

/** Fills a queue without latency; no figure counts what that costs. */
export async function fill(
  bench: Bench,
  queue: string,
  options: { readonly items: number; readonly perPush: number; readonly item: ItemGenerator },
): Promise<void> {
  const { items, perPush, item } = options
  const { queues, housekeeper } = openFixture(bench, { latency: 'none' })
  for (let pushed = 0; pushed < items; pushed += perPush) {
    const count = Math.min(perPush, items - pushed)
    await queues.push(queue, { items: Array.from({ length: count }, () => ({ text: item() })) })
    await housekeeper.idle()
    if (pushed % 50_000 === 0) bench.progress(`filling a queue: ${pushed} of ${items} items`)
  }
}

/** For a load: performs the action, and returns false if the queue asked it to come back later. */
export async function unlessBusy(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action()
    return true
  } catch (error) {
    if (error instanceof QueueError && error.retryable) return false
    throw error
  }
}

/** Repeats an action, and divides what the store had to do by the number of repeats. */
export async function perRepeat(
  { meter }: Store,
  count: number,
  action: () => Promise<unknown>,
): Promise<Tally> {
  for (let i = 0; i < count; i++) await action()
  return each(total(meter.read()), count)
}

type Options = Parameters<typeof createQueues>[0]
type Surroundings = Pick<Options, 'clock' | 'random' | 'onBackgroundError' | 'linger'>

export function openQueues(store: Omit<Store, 'meter' | 'delay'>, also: Surroundings = {}): Queues {
  return createQueues({
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: store.dynamodb as unknown as Options['dynamodb'],
    s3: store.s3 as unknown as Options['s3'],
    ...also,
  })
}

export type Housekeeper = {
  /** Called with each written row, like the stream, whose filter asks for `work`. */
  readonly onRow: (row: StoredRow) => void
  /** Resolves when nothing is left to do; throws what went wrong meanwhile. */
  idle(): Promise<void>
  readonly runsMs: readonly number[]
  /** Runs that left something to the sweeper. */
  unfinished(): number
}

/**
 * The stream calls one function at a time for a partition, and hands it whatever was written
 * meanwhile in one batch; so runs for one queue follow each other and writes during a run share
 * the next.
 */
export function createHousekeeper(queues: () => Pick<Queues, 'housekeep'>): Housekeeper {
  const due = new Set<string>()
  const runsMs: number[] = []
  const failures: unknown[] = []
  let unfinished = 0
  let running: Promise<void> | undefined

  async function run() {
    for (let queue = next(); queue !== undefined; queue = next()) {
      const startMs = performance.now()
      try {
        const { finished } = await queues().housekeep(queue)
        if (!finished) unfinished += 1
      } catch (error) {
        failures.push(error)
      }
      runsMs.push(performance.now() - startMs)
    }
    running = undefined
  }

  function next(): string | undefined {
    const [queue] = due
    if (queue !== undefined) due.delete(queue)
    return queue
  }

  return {
    onRow({ pk, work }) {
      if (work === undefined || typeof pk !== 'string' || !pk.startsWith('q#')) return
      due.add(pk.slice(2))
      running ??= run()
    },
    async idle() {
      while (running !== undefined) await running
      if (failures.length > 0) throw failures.splice(0)[0]
    },
    runsMs,
    unfinished: () => unfinished,
  }
}
