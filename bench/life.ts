// An item's whole life in bulk: pushed, popped, acknowledged, with the housekeeping its queue asks
// for, and what all of it costs by list prices.

import type { Queues } from '../engine/queues.ts'
import { seeded } from '../testing/random.ts'
import type { Bench } from './bench.ts'
import { type Fixture, openFixture } from './fixture.ts'
import { createItems } from './items.ts'
import { each, type Tally, total } from './metering/meter.ts'
import { callDollars, housekeepingDollars, storeDollars, writeUnitsWorth } from './prices.ts'

export type LifePlan = {
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

export type Life = {
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
