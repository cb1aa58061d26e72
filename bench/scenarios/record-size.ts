import type { Scenario } from '../bench.ts'
import { openFixture } from '../fixture.ts'
import { createItems } from '../items.ts'
import { atMost, rowsOf } from '../rows.ts'
import { trackRecord } from './depth.ts'

const LANES = 32

export const recordSize: Scenario = {
  name: 'record-size',
  title: 'record size',
  async run(bench) {
    const queue = bench.queueName('lanes')
    const record = trackRecord(queue)
    const { queues, housekeeper } = openFixture(bench, { latency: 'none', onRow: record.onRow })
    const item = createItems(9)
    bench.progress(`${LANES} lanes, in bulk`)
    for (let priority = 0; priority < LANES; priority++) {
      for (let i = 0; i < 10; i++) {
        const items = Array.from({ length: 100 }, () => ({ text: item(), priority }))
        await queues.push(queue, { items })
        await housekeeper.idle()
      }
    }
    bench.progress(`${LANES} lanes, one by one`)
    for (let i = 0; i < LANES * 25; i++) {
      const priority = (i * 7) % LANES
      await queues.push(queue, { items: [{ text: item(200), priority }] })
      await housekeeper.idle()
      if (i % 3 === 0) await queues.pop(queue)
    }
    return [
      rowsOf(this.title).bar(
        `largest with ${LANES} lanes in use, bytes`,
        record.largest(),
        atMost(6144),
        {
          aim: atMost(4096),
        },
      ),
    ]
  },
}
