import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { openFixture, unlessBusy } from '../fixture.ts'
import { createItems } from '../items.ts'
import { quantile } from '../load.ts'
import { atMost, rowsOf } from '../rows.ts'

const PRODUCERS = 8
const ITEMS = 1000

export const largePush: Scenario = {
  name: 'large-push',
  title: 'a 1,000-item push while 8 producers append without pause',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const times = bench.quick ? 10 : 50
    const alone = await measure(bench, 0, times)
    const beside = await measure(bench, PRODUCERS, times)
    const aloneMs = quantile(alone, 0.5)
    const besideMs = quantile(beside, 0.5)
    return [
      bar('times its time alone, at the median', besideMs / aloneMs, atMost(20), {
        aim: atMost(5),
      }),
      info('alone: median, ms', aloneMs),
      info('beside 8 producers: median, ms', besideMs),
      info('beside 8 producers: slowest, ms', Math.max(...beside)),
    ]
  },
}

async function measure(bench: Bench, producers: number, times: number): Promise<number[]> {
  const { store, queues, housekeeper } = openFixture(bench)
  const queue = bench.queueName('large')
  const item = createItems(5)
  let stopped = false

  async function append() {
    const own = openQueues(store)
    while (!stopped) await unlessBusy(() => own.push(queue, { items: [{ text: item(200) }] }))
  }
  const appending = Array.from({ length: producers }, append)

  const durationsMs: number[] = []
  for (let i = 0; i < times; i++) {
    bench.progress(`beside ${producers} producers: ${i} of ${times}`)
    const items = Array.from({ length: ITEMS }, () => ({ text: item() }))
    const startMs = performance.now()
    while (!(await unlessBusy(() => queues.push(queue, { items }))));
    durationsMs.push(performance.now() - startMs)
    // Pause, so that appends also go on between two large pushes, not only during one.
    await store.delay.wait(20)
  }
  stopped = true
  await Promise.all(appending)
  await housekeeper.idle()
  return durationsMs
}
