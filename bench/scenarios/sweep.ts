// A minute of the sweeper on simulated time: queues whose locks are over, and what a visit costs.

import { seeded } from '../../testing/random.ts'
import { createSimulatedClient } from '../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../testing/simulated/simulated-store.ts'
import { createVirtualTime } from '../../testing/simulated/virtual-time.ts'
import { DYNAMODB_LATENCY_MS, type Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import type { Sender } from '../metering/commands.ts'
import { createMeter, difference, total } from '../metering/meter.ts'
import { meterDynamodb } from '../metering/metered-dynamodb.ts'
import { atLeast, rowsOf } from '../rows.ts'

const START_MS = Date.UTC(2026, 10, 19, 7)
/** A run's time: its function's 70 s, less ten for its end. */
const RUN_MS = 60_000

export const sweep: Scenario = {
  name: 'sweep',
  title: 'a run of the sweeper over queues whose locks are over (simulated time)',
  async run(bench) {
    const queues = bench.count(20_000)
    const time = createVirtualTime(START_MS)
    const simulated = new SimulatedStore({ nowMs: time.nowMs })
    const meter = createMeter()
    const client = createSimulatedClient(simulated)
    let latencyMs = 0
    const dynamodb = meterDynamodb(client.dynamodb as unknown as Sender, {
      meter,
      latency: async () => (latencyMs === 0 ? undefined : time.sleep(latencyMs)),
    })
    const { tableName, bucketName } = simulated
    const s3 = client.s3 as unknown as Sender
    const engine = openQueues(
      { tableName, bucketName, dynamodb, s3 },
      { clock: time, random: seeded(1) },
    )
    for (let n = 0; n < queues; n += 1) {
      if (n % 2_000 === 0) bench.progress(`${n} of ${queues} queues`)
      const queue = `device-${n}`
      await engine.push(queue, { items: [{ text: '1' }] })
      await engine.pop(queue, { requireAck: true, ttlSeconds: 1 })
    }
    await time.run(START_MS + 2_000)
    latencyMs = DYNAMODB_LATENCY_MS
    const before = meter.read()
    let swept = 0
    let isDone = false
    const run = engine.returnExpiredLocks({ deadlineMs: time.nowMs() + RUN_MS }).then((report) => {
      swept = report.itemsReturned
      isDone = true
    })
    while (!isDone) await time.run(time.nowMs() + 100)
    await run
    const tookMs = time.nowMs() - START_MS - 2_000
    const used = total(difference(meter.read(), before))
    const { bar, info } = rowsOf(this.title)
    return [
      bar('queues a minute', (swept / tookMs) * RUN_MS, atLeast(20_000)),
      info('requests a queue', used.requests / queues),
      info('WRU a queue', used.writeUnits / queues),
      info('RRU a queue', used.readUnits / queues),
    ]
  },
}
