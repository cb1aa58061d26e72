// Producers on simulated time: a request takes about 5 ms of it, the engine's pauses pass in it,
// and computing takes none. So we measure the algorithm alone, and every machine gives the same figure.

import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { QueuesOptions, TransactItem } from '../engine/queues.ts'
import { seeded } from '../testing/random.ts'
import {
  createSimulatedClient,
  type Network,
  perfectNetwork,
  slowTransactions,
} from '../testing/simulated/network.ts'
import { SimulatedStore } from '../testing/simulated/store.ts'
import { createVirtualTime } from '../testing/simulated/virtual-time.ts'
import type { Store } from './bench.ts'
import { createHousekeeper, type Housekeeper, openQueues, unlessBusy } from './fixture.ts'
import { createItems, quantile } from './load.ts'
import { createMeter, difference, type Reading } from './meter.ts'
import { meterDynamodb, meterS3, type Sender } from './metered-stores.ts'

type SimulatedLoad = {
  readonly producers: number
  readonly seconds: number
  readonly itemBytes: number
  /** Absent: a store that takes whatever comes, as the embedded one does. */
  readonly throttle?: typeof oneItemsThrottle
  /** How many of the producers push with a key: the first ones do. */
  readonly keyed?: number
  /** How many (the last ones) push in their own transactions, each with another row. */
  readonly transacting?: number
  /** All of them share one engine, and their pushes linger in it if this says so. */
  readonly oneProcess?: { readonly linger: NonNullable<QueuesOptions['linger']> }
  /** Transactions hold their items for 5–15 ms, as on AWS. */
  readonly slowTransactions?: boolean
}

export type SimulatedResult = {
  readonly done: number
  readonly perSecond: number
  readonly p99Ms: number
  readonly gaveWay: number
  /** The share of producers with a key, and of those with transactions. */
  readonly keyed: Share
  readonly transacting: Share
  /** Seals and the like that no answer waited for. */
  readonly backgroundErrors: number
  readonly reading: Reading
}

type Share = { readonly done: number; readonly gaveWay: number; readonly p99Ms: number }

/** An item's, in a partition of DynamoDB. A second's worth may come at once; the warm-up uses it up. */
export const oneItemsThrottle = { writeUnitsPerSecond: 1000, burstUnits: 1000 }

const QUEUE = 'simulated'
const WARM_UP_MS = 2000
const START_MS = Date.UTC(2026, 10, 18, 7)

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one run, whose producers share its clock and tallies
export async function simulateProducers(load: SimulatedLoad): Promise<SimulatedResult> {
  const time = createVirtualTime(START_MS)
  const random = seeded(load.producers)
  const simulated = new SimulatedStore({ nowMs: time.nowMs, throttle: load.throttle })
  const network = load.slowTransactions
    ? slowTransactions(simulated, time.sleep, () => 5 + 10 * random())
    : perfectNetwork
  // A tenth more or less: otherwise producers that start together would stay in step.
  const wait = (ms: number) => time.sleep(ms * (0.9 + 0.2 * random()))
  const onRow: Housekeeper['onRow'] = (row) => housekeeper.onRow(row)
  const open = () => openSimulated(simulated, { network, wait, onRow })
  const store = open()
  const background = open()
  let backgroundErrors = 0
  const surroundings = { clock: time, random, onBackgroundError: () => void backgroundErrors++ }
  const housekeepingQueues = openQueues(background, surroundings)
  const housekeeper: Housekeeper = createHousekeeper(() => housekeepingQueues)

  const measureFromMs = START_MS + WARM_UP_MS
  const endMs = measureFromMs + load.seconds * 1000
  const plain = { durationsMs: [] as number[], gaveWay: 0 }
  const keyed = { durationsMs: [] as number[], gaveWay: 0 }
  const transacting = { durationsMs: [] as number[], gaveWay: 0 }
  const shared = load.oneProcess && openQueues(store, { ...surroundings, ...load.oneProcess })
  async function produce(producer: number) {
    const queues = shared ?? openQueues(store, surroundings)
    const item = createItems(producer)
    const isKeyed = producer < (load.keyed ?? 0)
    const isTransacting = producer >= load.producers - (load.transacting ?? 0)
    const tally = isKeyed ? keyed : isTransacting ? transacting : plain
    while (time.nowMs() < endMs) {
      const beganMs = time.nowMs()
      const items = [{ text: item(load.itemBytes) }]
      const key = isKeyed && { idempotencyKey: `${producer}-${beganMs}` }
      const did = await unlessBusy(() =>
        isTransacting
          ? queues.transact(QUEUE, items, (entries) => sendWithRow(store, producer, entries))
          : queues.push(QUEUE, { items, ...key }),
      )
      // Pause as a caller does when the queue asks it to come back.
      if (!did) await time.sleep(100 + 100 * random())
      if (time.nowMs() < measureFromMs || time.nowMs() >= endMs) continue
      if (did) tally.durationsMs.push(time.nowMs() - beganMs)
      else tally.gaveWay += 1
    }
  }

  const failures: unknown[] = []
  for (let producer = 0; producer < load.producers; producer++) {
    produce(producer).catch((error: unknown) => failures.push(error))
  }
  await time.run(measureFromMs)
  const atStart = store.meter.read()
  await time.run(endMs)
  if (failures.length > 0) throw failures[0]
  const all = [plain, keyed, transacting]
  const durationsMs = all.flatMap((tally) => tally.durationsMs)
  const done = durationsMs.length
  return {
    done,
    perSecond: done / load.seconds,
    p99Ms: quantile(durationsMs, 0.99),
    gaveWay: all.reduce((sum, tally) => sum + tally.gaveWay, 0),
    keyed: shareOf(keyed),
    transacting: shareOf(transacting),
    backgroundErrors,
    reading: difference(store.meter.read(), atStart),
  }
}

const shareOf = (tally: { durationsMs: number[]; gaveWay: number }): Share => ({
  done: tally.durationsMs.length,
  gaveWay: tally.gaveWay,
  p99Ms: quantile(tally.durationsMs, 0.99),
})

/** Pushes like a caller that changes its own row in the same transaction. */
function sendWithRow(
  { dynamodb, tableName: TableName }: Pick<Store, 'dynamodb' | 'tableName'>,
  producer: number,
  entries: readonly TransactItem[],
): Promise<unknown> {
  const Put = { TableName, Item: { pk: `business#${producer}`, sk: 'row' } }
  const command = new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] })
  return dynamodb.send(command as never)
}

/** Clients of a simulated store as the engine takes them, with a counter of their own. */
export function openSimulated(
  simulated: SimulatedStore,
  { network, wait, onRow }: SimulatedOptions,
): Omit<Store, 'delay'> {
  const meter = createMeter()
  const client = createSimulatedClient(simulated, network)
  const dynamodb = client.dynamodb as unknown as Sender
  return {
    tableName: simulated.tableName,
    bucketName: simulated.bucketName,
    meter,
    dynamodb: meterDynamodb(dynamodb, { meter, wait, ...(onRow && { onRow }) }),
    s3: meterS3(client.s3 as unknown as Sender, { meter, wait }),
  }
}

type SimulatedOptions = {
  readonly wait: (ms: number) => Promise<void>
  readonly network?: Network
  readonly onRow?: Housekeeper['onRow']
}
