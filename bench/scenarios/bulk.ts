// What items cost from end to end, by list prices: pushed and popped in bulk, and brought by the inbox.

import { sequenceOf } from '../../engine/core/repeated-pushes.ts'
import type { InboxMessage, Queues } from '../../engine/queues.ts'
import { applyInboxSetting } from '../../lib/constructs/function-settings.ts'
import { prices } from '../../lib/prices.ts'
import { seeded } from '../../testing/random.ts'
import type { Bench, Scenario } from '../bench.ts'
import { type Fixture, openFixture } from '../fixture.ts'
import { createItems } from '../load.ts'
import {
  callDollars,
  each,
  housekeepingDollars,
  invocationDollars,
  sqsFifoBestDollarsPerMillion,
  storeDollars,
  type Tally,
  total,
  writeUnitsWorth,
} from '../meter.ts'
import { atMost, type Row, rowsOf } from '../report.ts'

type Bars = {
  readonly perPush: number
  readonly short: number
  readonly deep: number
  /** A million items, all in. */
  readonly dollars: number
  readonly aim: number
  /** Also measure with batches on both sides of the size from which they go to S3. */
  readonly isMixedToo?: boolean
}

const DEEP = 100_000

const bulk = (name: string, bars: Bars): Scenario => ({
  name,
  title: `whole life in bulk, ${bars.perPush} a push`,
  async run(bench) {
    const { perPush } = bars
    const rounds = bench.count(20_000 / perPush)
    const rows: Row[] = []
    for (const mode of modes) {
      const short = { ...mode.how, perPush, depth: perPush, rounds }
      rows.push(
        ...(await lifeRows(bench, this.title, `short, ${mode.label}`, short, bars.short, bars)),
      )
    }
    for (const mode of modes.filter(({ deep }) => deep)) {
      const deep = { ...mode.how, perPush, depth: bench.count(DEEP), rounds: 1 }
      rows.push(
        ...(await lifeRows(bench, this.title, `deep, ${mode.label}`, deep, bars.deep, bars)),
      )
    }
    if (bars.isMixedToo === true) {
      const mixed = { ...modes[0].how, perPush, depth: bench.count(DEEP), rounds: 1, isMixed: true }
      const label = 'deep, combined, in rows and in S3 in turns'
      rows.push(...(await lifeRows(bench, this.title, label, mixed, bars.deep, bars)))
    }
    return rows
  },
})

export const bulk100 = bulk('bulk-100', {
  perPush: 100,
  short: 0.3,
  deep: 0.3,
  dollars: 0.2,
  aim: sqsFifoBestDollarsPerMillion,
  isMixedToo: true,
})
export const bulk1000 = bulk('bulk-1000', {
  perPush: 1000,
  short: 0.2,
  deep: 0.2,
  dollars: 0.08,
  aim: 0.05,
})

const modes = [
  { label: 'combined', deep: true, how: { combined: true, competing: true } },
  { label: 'separate', deep: true, how: { combined: false, competing: true } },
  { label: 'combined, exclusive', deep: false, how: { combined: true, competing: false } },
  { label: 'separate, exclusive', deep: false, how: { combined: false, competing: false } },
] as const

async function lifeRows(
  bench: Bench,
  title: string,
  label: string,
  plan: LifePlan,
  limit: number,
  bars: Bars,
): Promise<Row[]> {
  const { bar, info } = rowsOf(title)
  const life = await live(bench, `${bars.perPush} a push, ${label}`, plan)
  return [
    bar(`${label}: worth of WRU an item`, life.worthOfWriteUnits, atMost(limit)),
    bar(
      `${label}: $ a million, with gateway and Lambda`,
      life.dollarsPerMillion,
      atMost(bars.dollars),
      {
        aim: atMost(bars.aim),
      },
    ),
    info(`${label}: $ a million, the store alone`, life.storeDollarsPerMillion),
    info(`${label}: of it housekeeping, WRU an item`, life.housekeeping),
    info(`${label}: housekeeping runs an item`, life.housekeepingRuns),
    info(`${label}: housekeeping runs left unfinished`, life.unfinishedRuns),
  ]
}

type LifePlan = {
  readonly perPush: number
  /** Pushed before the first pop; then as much again after each time that it is popped. */
  readonly depth: number
  readonly rounds: number
  /** Whether to acknowledge with the next pop, or with a separate call. */
  readonly combined: boolean
  readonly competing: boolean
  /** Every other push has items that hardly compress, so that its batch lies in S3 and not in rows. */
  readonly isMixed?: boolean
}

type Life = {
  readonly worthOfWriteUnits: number
  readonly dollarsPerMillion: number
  /** The cost of the store alone, without gateway and Lambda. */
  readonly storeDollarsPerMillion: number
  readonly tally: Tally
  readonly housekeeping: number
  readonly housekeepingRuns: number
  /** Runs that did not finish; the sweeper would do the rest. */
  readonly unfinishedRuns: number
}

const PER_POP = 100

/**
 * An item's whole life in bulk: pushed, popped, acknowledged, with the housekeeping its queue asks
 * for, and what all of it costs by list prices.
 */
export async function live(bench: Bench, label: string, plan: LifePlan): Promise<Life> {
  const queue = bench.queueName('life')
  const fixture = openFixture(bench)
  const calls = createCalls(fixture)
  const item = createItems(4)
  const random = seeded(5)
  const noise = () => Array.from({ length: 30 }, () => Math.floor(random() * 36 ** 8).toString(36))
  const items = plan.depth * plan.rounds
  let held: string | undefined

  for (let round = 0; round < plan.rounds; round++) {
    for (let pushed = 0; pushed < plan.depth; pushed += plan.perPush) {
      const isNoisy = plan.isMixed === true && (pushed / plan.perPush) % 2 === 1
      const batch = Array.from({ length: plan.perPush }, () => ({
        text: isNoisy ? JSON.stringify(noise()) : item(),
      }))
      await calls.timed(() => fixture.queues.push(queue, { items: batch }))
      if (pushed % 5000 === 0) bench.progress(`${label}: pushed ${round * plan.depth + pushed}`)
    }
    for (let popped = 0; popped < plan.depth; popped += PER_POP) {
      held = await take(fixture.queues, queue, plan, held, calls)
      if (popped % 5000 === 0) bench.progress(`${label}: popped ${round * plan.depth + popped}`)
    }
  }
  if (held !== undefined) await settle(fixture.queues, queue, held, calls)
  return report(bench, label, fixture, calls, items)
}

async function take(
  queues: Queues,
  queue: string,
  { combined, competing }: LifePlan,
  held: string | undefined,
  calls: Calls,
): Promise<string | undefined> {
  const outcome = await calls.timed(() =>
    queues.pop(queue, {
      count: PER_POP,
      requireAck: true,
      competing,
      ...(held !== undefined && { acknowledge: held }),
    }),
  )
  if (outcome.kind !== 'items' || outcome.items.length !== PER_POP || !outcome.lock) {
    const found = outcome.kind === 'items' ? `${outcome.items.length} items` : outcome.kind
    throw new Error(`Cannot go on because a pop of ${PER_POP} found ${found}`)
  }
  if (combined) return outcome.lock.id
  await settle(queues, queue, outcome.lock.id, calls)
  return undefined
}

const settle = (queues: Queues, queue: string, lockId: string, calls: Calls) =>
  calls.timed(() => queues.acknowledge(queue, { lockId }))

type Calls = { timed<T>(call: () => Promise<T>): Promise<T>; readonly durationsMs: number[] }

/** Each call is timed as a Lambda would be, and the housekeeping it woke is waited for. */
function createCalls({ housekeeper }: Fixture): Calls {
  const durationsMs: number[] = []
  return {
    durationsMs,
    async timed(call) {
      const startMs = performance.now()
      const answer = await call()
      durationsMs.push(performance.now() - startMs)
      await housekeeper.idle()
      return answer
    },
  }
}

function report(bench: Bench, label: string, fixture: Fixture, calls: Calls, items: number): Life {
  const { store, housekeeping, housekeeper } = fixture
  const foreground = total(store.meter.read())
  const background = total(housekeeping.meter.read())
  bench.explain(label, store.meter.read(), items)
  bench.explain(`${label}: housekeeping`, housekeeping.meter.read(), items)

  const stored = storeDollars(foreground) + storeDollars(background)
  const called =
    sum(calls.durationsMs.map(callDollars)) + sum(housekeeper.runsMs.map(housekeepingDollars))
  const perMillion = 1_000_000 / items
  return {
    worthOfWriteUnits: (writeUnitsWorth(foreground) + writeUnitsWorth(background)) / items,
    dollarsPerMillion: (stored + called) * perMillion,
    storeDollarsPerMillion: stored * perMillion,
    tally: each(foreground, items),
    housekeeping: writeUnitsWorth(background) / items,
    housekeepingRuns: housekeeper.runsMs.length / items,
    unfinishedRuns: housekeeper.unfinished(),
  }
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

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
    const full = await applyAll(bench, PER_BATCH, bench.count(10_000))
    const alone = await applyAll(bench, 1, bench.count(2_000))
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
const dollars = ({ applied, housekeeping }: Applied, perBatch: number): number =>
  million * (storeDollars(applied) + storeDollars(housekeeping) + delivery(perBatch))

/** Each message is sent by itself; a whole batch is received, applied and deleted at once. */
const delivery = (perBatch: number): number =>
  prices.sqsFifoRequest * (1 + 2 / perBatch) +
  invocationDollars(applyInboxSetting, RUN_MS) / perBatch

type Applied = { readonly applied: Tally; readonly housekeeping: Tally }

async function applyAll(bench: Bench, perBatch: number, count: number): Promise<Applied> {
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
