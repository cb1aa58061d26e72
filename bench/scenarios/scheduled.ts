import { Random } from '../../testing/random.ts'
import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { openFixture } from '../fixture.ts'
import { createItems } from '../items.ts'
import { itemBytes } from '../metering/failed-write.ts'
import { difference, each, type Reading, sum, type Tally, total } from '../metering/meter.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

const SCHEDULED = 1_000_000
const PER_PUSH = 1_000
const OPERATIONS = 400
const WARM_UP = 32
/** One more item stays after this many rounds: AWS bills full KB, so we measure records and items of many sizes. */
const ROUNDS_PER_STAYING = 4
/** Nothing of it is due while this runs. */
const DELAY_SECONDS = 86_400
/** After this long, the sweeper has copied the last entries out of the record. */
const AT_REST_MS = 61_000

type Verb = 'push' | 'pop' | 'acknowledge'
type Measured = { readonly verbs: Record<Verb, Tally>; readonly recordBytes: number }

export const scheduled: Scenario = {
  name: 'scheduled',
  title: '1,000,000 items for later',
  async run(bench) {
    bench.progress('a queue without')
    const without = await measure(bench, bench.queueName('without'))
    const queue = bench.queueName('scheduled')
    await schedule(bench, queue, bench.count(SCHEDULED))
    await sweepLater(bench)
    const beside = await measure(bench, queue)
    const { bar, info } = rowsOf(this.title)
    const compare = (verb: Verb, what: 'requests' | 'writeUnits', text: string): Row[] => {
      const [one, other] = [without.verbs[verb][what], beside.verbs[verb][what]]
      return [
        bar(`${verb}: ${text} more than without them`, other / one - 1, atMost(0.05)),
        info(`${verb}: ${text} without them`, one),
      ]
    }
    const verbs: readonly Verb[] = ['push', 'pop', 'acknowledge']
    return [
      ...verbs.flatMap((verb) => [
        ...compare(verb, 'requests', 'requests'),
        ...compare(verb, 'writeUnits', 'WRU'),
      ]),
      bar(
        'record: bytes more than without them',
        beside.recordBytes / without.recordBytes - 1,
        atMost(0.05),
      ),
      info('record without them, bytes', without.recordBytes),
      info('record: what is more, bytes', beside.recordBytes - without.recordBytes),
    ]
  },
}

/** In pushes of a thousand items, each due in a different second. */
async function schedule(bench: Bench, queue: string, items: number): Promise<void> {
  const { queues, housekeeper } = openFixture(bench, { latency: 'none' })
  const item = createItems(11)
  for (let made = 0; made < items; made += PER_PUSH) {
    const delaySeconds = DELAY_SECONDS + made / PER_PUSH
    const bulk = Array.from({ length: PER_PUSH }, () => ({ text: item(), delaySeconds }))
    await queues.push(queue, { items: bulk })
    if (made % 50_000 === 0) bench.progress(`${made} of ${items} items scheduled`)
  }
  await housekeeper.idle()
}

async function sweepLater(bench: Bench): Promise<void> {
  const clock = {
    nowMs: () => Date.now() + AT_REST_MS,
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  }
  await openQueues(bench.store({ latency: 'none' }), { clock }).returnExpiredLocks()
}

/** A push, a pop and an acknowledgement in turns, equally often; and the record's mean size over all of it. */
async function measure(bench: Bench, queue: string): Promise<Measured> {
  let [written, bytes] = [0, 0]
  const { store, queues, housekeeper } = openFixture(bench, {
    latency: 'none',
    onRow(row) {
      if (row.pk !== `q#${queue}`) return
      written += 1
      bytes += itemBytes(row)
    },
  })
  const item = createItems(8)
  const readings: Record<Verb, Reading> = {
    push: new Map(),
    pop: new Map(),
    acknowledge: new Map(),
  }
  const sizes = new Random(12)
  let lockId = ''
  const verbs: Record<Verb, () => Promise<unknown>> = {
    push: () => queues.push(queue, { items: [{ text: item(sizes.between(120, 420)) }] }),
    async pop() {
      const popped = await queues.pop(queue, { requireAck: true })
      if (popped.kind === 'items') lockId = popped.lock?.id ?? ''
    },
    acknowledge: () => queues.acknowledge(queue, { lockId }),
  }
  for (let round = 0; round < WARM_UP + OPERATIONS; round += 1) {
    if (round % ROUNDS_PER_STAYING === 0) await verbs.push()
    if (round === WARM_UP) [written, bytes] = [0, 0]
    for (const verb of ['push', 'pop', 'acknowledge'] as const) {
      const start = store.meter.read()
      await verbs[verb]()
      if (round < WARM_UP) continue
      readings[verb] = sum(readings[verb], difference(store.meter.read(), start))
    }
    await housekeeper.idle()
  }
  const tallyOf = (verb: Verb): Tally => each(total(readings[verb]), OPERATIONS)
  return {
    verbs: { push: tallyOf('push'), pop: tallyOf('pop'), acknowledge: tallyOf('acknowledge') },
    recordBytes: bytes / written,
  }
}
