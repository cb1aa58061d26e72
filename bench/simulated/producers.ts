// Producers on simulated time: a request takes about 5 ms of it, the engine's pauses pass in it,
// and computing takes none. What is measured is the algorithm alone, the same on every machine.

import { createSimulatedClient } from '../../test/simulated/simulated-client.ts'
import { SimulatedStore } from '../../test/simulated/simulated-store.ts'
import { createVirtualTime, type VirtualTime } from '../../test/simulated/virtual-time.ts'
import { DYNAMODB_LATENCY_MS, S3_LATENCY_MS } from '../bench.ts'
import { createHousekeeper, type Housekeeper, openQueues } from '../engine.ts'
import { unlessBusy } from '../fixture.ts'
import { createItems } from '../items.ts'
import { quantile } from '../load.ts'
import type { Sender } from '../metering/commands.ts'
import { createMeter, difference, type Reading } from '../metering/meter.ts'
import { meterDynamodb } from '../metering/metered-dynamodb.ts'
import { meterS3 } from '../metering/metered-s3.ts'
import { createRandom } from '../random.ts'

export type SimulatedLoad = {
  readonly producers: number
  readonly seconds: number
  readonly itemBytes: number
  /** Absent: a store that takes whatever comes, as the embedded one does. */
  readonly throttle?: { readonly writeUnitsPerSecond: number; readonly burstUnits: number }
}

export type SimulatedResult = {
  readonly done: number
  readonly perSecond: number
  readonly p99Ms: number
  readonly gaveWay: number
  /** Seals and the like that no answer waited for. */
  readonly backgroundErrors: number
  readonly reading: Reading
}

const QUEUE = 'simulated'
const WARM_UP_MS = 2000
const START_MS = Date.UTC(2026, 10, 18, 7)

export async function simulateProducers(load: SimulatedLoad): Promise<SimulatedResult> {
  const time = createVirtualTime(START_MS)
  const random = createRandom(load.producers)
  const simulated = new SimulatedStore({ nowMs: time.nowMs, throttle: load.throttle })
  const store = openSimulated(simulated, time, random, (row) => housekeeper.onRow(row))
  const background = openSimulated(simulated, time, random, (row) => housekeeper.onRow(row))
  let backgroundErrors = 0
  const surroundings = { clock: time, random, onBackgroundError: () => void backgroundErrors++ }
  const housekeepingQueues = openQueues(background, surroundings)
  const housekeeper: Housekeeper = createHousekeeper(() => housekeepingQueues)

  const measureFromMs = START_MS + WARM_UP_MS
  const endMs = measureFromMs + load.seconds * 1000
  const durationsMs: number[] = []
  let gaveWay = 0
  async function produce(producer: number) {
    const queues = openQueues(store, surroundings)
    const item = createItems(producer)
    while (time.nowMs() < endMs) {
      const beganMs = time.nowMs()
      const items = [{ text: item(load.itemBytes) }]
      const did = await unlessBusy(() => queues.push(QUEUE, { items }))
      // What a caller told to come back would do.
      if (!did) await time.sleep(100 + 100 * random())
      if (time.nowMs() < measureFromMs || time.nowMs() >= endMs) continue
      if (did) durationsMs.push(time.nowMs() - beganMs)
      else gaveWay += 1
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
  return {
    done: durationsMs.length,
    perSecond: durationsMs.length / load.seconds,
    p99Ms: quantile(durationsMs, 0.99),
    gaveWay,
    backgroundErrors,
    reading: difference(store.meter.read(), atStart),
  }
}

function openSimulated(
  simulated: SimulatedStore,
  time: VirtualTime,
  random: () => number,
  onRow: Housekeeper['onRow'],
) {
  const meter = createMeter()
  const client = createSimulatedClient(simulated)
  // A tenth more or less, or producers that start together would stay in step for ever.
  const latency = (ms: number) => () => time.sleep(ms * (0.9 + 0.2 * random()))
  return {
    tableName: simulated.tableName,
    bucketName: simulated.bucketName,
    meter,
    dynamodb: meterDynamodb(client.dynamodb as unknown as Sender, {
      meter,
      latency: latency(DYNAMODB_LATENCY_MS),
      onRow,
    }),
    s3: meterS3(client.s3 as unknown as Sender, { meter, latency: latency(S3_LATENCY_MS) }),
  }
}
