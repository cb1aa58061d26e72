import { sequenceOf } from '../../engine/core/repeated-pushes.ts'
import type { InboxMessage } from '../../engine/queues.ts'
import { applyInboxSetting } from '../../lib/constructs/function-settings.ts'
import { prices } from '../../lib/prices.ts'
import type { Bench, Scenario } from '../bench.ts'
import { openFixture } from '../fixture.ts'
import { createItems } from '../items.ts'
import { each, type Tally, total } from '../metering/meter.ts'
import { invocationDollars, storeDollars, writeUnitsWorth } from '../prices.ts'
import { atMost, rowsOf } from '../rows.ts'

const BYTES = 200
const PER_BATCH = 10
/** How long a run with a full batch takes on a real table. */
const RUN_MS = 40
const million = 1_000_000

/** Lambda's pollers of an empty queue: five, each of which waits for 20 seconds. */
const IDLE_POLLS_A_MONTH = 5 * 3 * 60 * 24 * 30

export const inbox: Scenario = {
  name: 'inbox',
  title: 'messages of the inbox, 200-byte items, one queue',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const full = await measure(bench, PER_BATCH, bench.count(10_000))
    const alone = await measure(bench, 1, bench.count(2_000))
    return [
      bar('full batches: WRU a message', full.applied.writeUnits, atMost(0.45)),
      bar('alone: WRU a message', alone.applied.writeUnits, atMost(2.6)),
      info('full batches: requests a message', full.applied.requests),
      info('alone: requests a message', alone.applied.requests),
      info('full batches: RRU a message', full.applied.readUnits),
      info('alone: RRU a message', alone.applied.readUnits),
      // Ten messages of 200 bytes are a batch, and batches stay where they were born.
      info(
        'full batches: housekeeping, worth of WRU a message',
        writeUnitsWorth(full.housekeeping),
      ),
      info('alone: housekeeping, worth of WRU a message', writeUnitsWorth(alone.housekeeping)),
      info('full batches: $ a million, from SQS on', dollars(full, PER_BATCH)),
      info('alone: $ a million, from SQS on', dollars(alone, 1)),
      info('idle: $ a month', IDLE_POLLS_A_MONTH * prices.sqsFifoRequest),
    ]
  },
}

/** The cost of a million messages, until they are in the queue and it is tidy. */
const dollars = ({ applied, housekeeping }: Measured, perBatch: number): number =>
  million * (storeDollars(applied) + storeDollars(housekeeping) + delivery(perBatch))

/** Each message is sent by itself; a whole batch is received, applied and deleted at once. */
const delivery = (perBatch: number): number =>
  prices.sqsFifoRequest * (1 + 2 / perBatch) +
  invocationDollars(applyInboxSetting, RUN_MS) / perBatch

type Measured = { readonly applied: Tally; readonly housekeeping: Tally }

async function measure(bench: Bench, perBatch: number, count: number): Promise<Measured> {
  const { store, queues, housekeeper, housekeeping } = openFixture(bench)
  const queue = bench.queueName('inbox')
  const item = createItems(1)
  for (let at = 0; at < count; at += perBatch) {
    const batch = Array.from(
      { length: perBatch },
      (_, index): InboxMessage => ({
        kind: 'push',
        sequence: sequenceOf('bench-', String(at + index + 1)),
        items: [{ text: item(BYTES) }],
        waitsUntilMs: Number.MAX_SAFE_INTEGER,
      }),
    )
    const { settled, error } = await queues.apply(queue, batch)
    if (settled < perBatch) throw error
    if (at % 1_000 === 0) bench.progress(`${at} of ${count} messages, ${perBatch} at a time`)
  }
  await housekeeper.idle()
  bench.explain(`messages, ${perBatch} at a time`, store.meter.read(), count)
  return {
    applied: each(total(store.meter.read()), count),
    housekeeping: each(total(housekeeping.meter.read()), count),
  }
}
