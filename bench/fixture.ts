import { createQueues, type Queues } from '../engine/queues.ts'
import { QueueError } from '../shared/errors.ts'
import { seeded } from '../testing/random.ts'
import type { Bench, Store, StoreOptions } from './bench.ts'
import { each, type Tally, total } from './meter.ts'
import type { StoredRow } from './metered-stores.ts'

// The engine as the scenarios use it: instances that share nothing but the stores, and
// housekeeping as the table's stream would call it.

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

// Items as a shop would queue them: much of each is the same as in the one before (names, kinds, currencies) and
// some differs (ids, amounts), so that they compress like real ones: 100 of 234 bytes are 23 KB, and about 4.5 KB
// after zstd.

export type ItemGenerator = (bytes?: number) => string

const ITEM_BYTES = 234

const kinds = ['order.created', 'order.paid', 'order.packed', 'order.shipped', 'order.returned']
const currencies = ['EUR', 'EUR', 'EUR', 'USD', 'GBP']
const articles = ['espresso-1kg', 'filter-500g', 'grinder', 'cup-blue', 'cup-white', 'descaler']

export function createItems(seed: number): ItemGenerator {
  const random = seeded(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const digits = (count: number) => String(Math.floor(random() * 10 ** count)).padStart(count, '0')
  const hex = (count: number) =>
    Math.floor(random() * 16 ** count)
      .toString(16)
      .padStart(count, '0')
  let timeMs = Date.UTC(2026, 10, 18, 7)
  let order = 730_000 + Math.floor(random() * 10_000)

  return (bytes = ITEM_BYTES) => {
    timeMs += Math.floor(random() * 400)
    order += 1
    const event = {
      id: hex(8) + hex(8) + hex(8) + hex(8),
      kind: pick(kinds),
      at: new Date(timeMs).toISOString(),
      customer: `c-${digits(6)}`,
      order,
      total: `${1 + Math.floor(random() * 300)}.${digits(2)} ${pick(currencies)}`,
      article: pick(articles),
      count: 1 + Math.floor(random() * 4),
      note: '',
    }
    const missing = bytes - JSON.stringify(event).length
    return JSON.stringify({ ...event, note: filler.slice(0, Math.max(0, missing)) })
  }
}

const filler = 'leave with the neighbours if nobody opens; ring twice. '.repeat(8)

// An engine with its housekeeping, each behind clients with separate counters.

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
