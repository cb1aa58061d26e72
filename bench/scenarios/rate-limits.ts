// A decision by our rate limiter, and by the one that a Node team would take, on one store in one run.

import {
  type DynamoDBClient,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb'
import { RateLimiterDynamo, RateLimiterRes } from 'rate-limiter-flexible'
import { createRateLimits, type RateLimits } from '../../rate/rate-limits.ts'
import { QueueError } from '../../shared/errors.ts'
import { createTable } from '../baselines/algorithms.ts'
import type { Bench, Scenario, Store } from '../bench.ts'
import { openQueues } from '../fixture.ts'
import { createMeter, difference, each, type Meter, type Tally, total } from '../meter.ts'
import { createDelay, meterDynamodb, type Sender } from '../metered-stores.ts'
import { atMost, type Row, rowsOf } from '../report.ts'

/** One limit is far above what a caller asks for, so all are allowed; one far below, so all but one are denied. */
const GENEROUS = { points: 100_000, seconds: 1 }
const MEAN = { points: 1, seconds: 86_400 }
const HOT = { points: 100, seconds: 1 }
const HOT_PROCESSES = 12

export const rateLimits: Scenario = {
  name: 'rate-limits',
  title: 'rate limits: one caller a key; a hot key; rate-limiter-flexible beside it',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const table = bench.queueName('flexible')
    await createFlexibleTable(bench.embedded.dynamodb, table)
    const count = bench.count(2_000)
    const ours = {
      allowed: await measureOurs(bench, GENEROUS, count),
      denied: await measureOurs(bench, MEAN, count),
      keys: await measureOurs(bench, GENEROUS, count, count),
    }
    const theirs = {
      allowed: await measureTheirs(bench, table, GENEROUS, count),
      denied: await measureTheirs(bench, table, MEAN, count),
      keys: await measureTheirs(bench, table, GENEROUS, count, count),
      remembered: await measureTheirs(bench, table, MEAN, count, 1, true),
    }
    const hot = await measureHot(bench)
    const pushes = {
      free: await measurePushes(bench, undefined, count),
      limited: await measurePushes(bench, GENEROUS, count),
      denied: await measurePushes(bench, MEAN, count),
    }
    const units = ({ writeUnits, readUnits }: Tally): number => writeUnits + readUnits
    const against = (what: 'allowed' | 'denied'): Row[] => {
      return [
        bar(
          `${what}: requests, of theirs`,
          ours[what].requests / theirs[what].requests,
          atMost(0.99),
        ),
        bar(`${what}: units, of theirs`, units(ours[what]) / units(theirs[what]), atMost(0.99)),
        info(`${what}: their requests`, theirs[what].requests),
        info(`${what}: their units`, units(theirs[what])),
      ]
    }
    return [
      bar('requests a decision', ours.allowed.requests, atMost(1.05)),
      bar('WRU a decision', ours.allowed.writeUnits, atMost(1.1)),
      bar('RRU a decision', ours.allowed.readUnits, atMost(0)),
      bar('a key’s first: requests', ours.keys.requests, atMost(1.05)),
      bar('a key’s first: WRU', ours.keys.writeUnits, atMost(1.1)),
      info('denied: requests', ours.denied.requests),
      bar(`hot key, ${HOT_PROCESSES} processes: writes, of its limit`, hot, atMost(1.2)),
      ...against('allowed'),
      ...against('denied'),
      info('a key’s first: their requests', theirs.keys.requests),
      info('a key’s first: their units', units(theirs.keys)),
      info('denied, blocked in their memory: their requests', theirs.remembered.requests),
      info('push to a queue without a limit: requests', pushes.free.requests),
      info('push to a queue without a limit: WRU', pushes.free.writeUnits),
      info('push under a push_limit: requests', pushes.limited.requests),
      info('push under a push_limit: WRU', pushes.limited.writeUnits),
      info('push that the limit denies: requests', pushes.denied.requests),
    ]
  },
}

type Limit = { readonly points: number; readonly seconds: number }

async function measureOurs(bench: Bench, limit: Limit, count: number, keys = 1): Promise<Tally> {
  const store = bench.store()
  const limits = openLimits(store)
  const prefix = bench.queueName('rate')
  const overrides = { maxRequests: limit.points, windowMillis: limit.seconds * 1_000 }
  // A warm process: it has read the patterns, which it does twice a minute for all keys together.
  await limits.decide(`${prefix}-warm`, { overrides })
  const before = store.meter.read()
  for (let i = 0; i < count; i += 1) {
    await limits.decide(`${prefix}-${i % keys}`, { overrides })
    if (i % 250 === 0) bench.progress(`${i} of ${count} decisions`)
  }
  const used = difference(store.meter.read(), before)
  bench.explain(`rate limits, ${limit.points} in ${limit.seconds} s`, used, count)
  return each(total(used), count)
}

async function measureTheirs(
  bench: Bench,
  table: string,
  limit: Limit,
  count: number,
  keys = 1,
  remembers = false,
): Promise<Tally> {
  const limiter = openFlexible(bench, table, { ...limit, remembers })
  const prefix = bench.queueName('flexible')
  for (let i = 0; i < count; i += 1) {
    await limiter.consume(`${prefix}-${i % keys}`)
    if (i % 250 === 0) bench.progress(`rate-limiter-flexible: ${i} of ${count} decisions`)
  }
  return each(total(limiter.meter.read()), count)
}

/** One producer, one item of 200 bytes at a time. */
async function measurePushes(
  bench: Bench,
  limit: Limit | undefined,
  count: number,
): Promise<Tally> {
  const store = bench.store()
  const queues = openQueues(store)
  const queue = bench.queueName('limited')
  const maxRequests = limit?.points ?? 1
  const pushLimit = limit && { maxRequests, windowMillis: limit.seconds * 1_000 }
  await queues.configure(queue, { pushLimit: pushLimit ?? null })
  const before = store.meter.read()
  for (let i = 0; i < count; i += 1) {
    const call = queues.push(queue, { items: [{ text: `"${String(i).padEnd(198, 'x')}"` }] })
    if (limit === MEAN && i > 0) await call.catch(isDenial)
    else await call
    if (i % 250 === 0) bench.progress(`${i} of ${count} pushes`)
  }
  return each(total(difference(store.meter.read(), before)), count)
}

function isDenial(error: unknown): void {
  if (!(error instanceof QueueError) || error.code !== 'RATE_LIMITED') throw error
}

/** Processes that do nothing but ask, far above the limit: writes a window, of the limit. */
async function measureHot(bench: Bench): Promise<number> {
  const stores = Array.from({ length: HOT_PROCESSES }, () => bench.store())
  const key = bench.queueName('hot')
  const overrides = { maxRequests: HOT.points, windowMillis: HOT.seconds * 1_000 }
  const seconds = bench.seconds(8)
  // Measure from the beginning of one window to the beginning of another.
  await new Promise((resolve) => setTimeout(resolve, 1_000 - (Date.now() % 1_000)))
  const endMs = Date.now() + seconds * 1_000
  const ask = async (store: Store): Promise<void> => {
    const limits = openLimits(store)
    while (Date.now() < endMs) {
      const { kind } = await limits.decide(key, { overrides })
      // Callers come over a network: a denial from memory takes no time, and theirs does.
      if (kind === 'denied') await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await Promise.all(stores.map(ask))
  const writes = stores.reduce((sum, { meter }) => sum + total(meter.read()).writeUnits, 0)
  return writes / (seconds * HOT.points)
}

type Options = Parameters<typeof createRateLimits>[0]

const secret = new TextEncoder().encode('a secret for the benchmark')

const openLimits = (store: Store): RateLimits =>
  createRateLimits({
    tableName: store.tableName,
    dynamodb: store.dynamodb as unknown as Options['dynamodb'],
    secret,
  })

type FlexibleLimiter = {
  readonly meter: Meter
  /** Asks whether a request may go; either answer will do. */
  consume(key: string): Promise<void>
}

const createFlexibleTable = (dynamodb: DynamoDBClient, name: string): Promise<unknown> =>
  createTable(dynamodb, name, { attributes: { key: 'S' }, keys: ['key'] })

/**
 * rate-limiter-flexible on DynamoDB as its manual describes it, on the same store, behind the same meter. `remembers`:
 * with its option to block a caller in memory once the points are used up.
 */
function openFlexible(
  bench: Bench,
  tableName: string,
  options: { readonly points: number; readonly seconds: number; readonly remembers: boolean },
): FlexibleLimiter {
  const { points, seconds, remembers } = options
  const meter = createMeter()
  const delay = createDelay()
  const metered = meterDynamodb(bench.embedded.dynamodb as unknown as Sender, {
    meter,
    wait: delay.wait,
  })
  const limiter = new RateLimiterDynamo({
    // All that it asks of the SDK's aggregated client, once its table is there.
    storeClient: {
      updateItem: (input: UpdateItemCommandInput) => metered.send(new UpdateItemCommand(input)),
    },
    tableName,
    tableCreated: true,
    ttlSet: true,
    points,
    duration: seconds,
    ...(remembers && { inMemoryBlockOnConsumed: points }),
  })
  return {
    meter,
    async consume(key) {
      try {
        await limiter.consume(key)
      } catch (error) {
        // It denies by throwing an object with the current state.
        if (!(error instanceof RateLimiterRes)) throw error
      }
    },
  }
}
