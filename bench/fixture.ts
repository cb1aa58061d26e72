// An engine with its housekeeping, each behind clients with separate counters.

import type { Queues } from '../engine/queues.ts'
import { QueueError } from '../shared/errors.ts'
import type { Bench, Store, StoreOptions } from './bench.ts'
import { createHousekeeper, type Housekeeper, openQueues } from './engine.ts'
import type { ItemGenerator } from './items.ts'
import { each, type Tally, total } from './metering/meter.ts'

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
