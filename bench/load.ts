// What a load is made of: items, and several workers that do one thing after another for a while; and how long that took.

import { seeded } from '../testing/random.ts'

type Load = {
  readonly workers: number
  readonly warmUpSeconds: number
  readonly seconds: number
  /** Answers false if it had to give way and did nothing. */
  step(worker: number): Promise<boolean>
  /** The counters are read when the warm-up is over. */
  onStart?(): void
}

export type LoadResult = {
  readonly done: number
  readonly gaveWay: number
  readonly perSecond: number
  readonly durationsMs: readonly number[]
  readonly medianMs: number
  readonly p99Ms: number
}

export async function runLoad(load: Load): Promise<LoadResult> {
  const startMs = performance.now() + load.warmUpSeconds * 1000
  const endMs = startMs + load.seconds * 1000
  const durationsMs: number[] = []
  let gaveWay = 0
  let started = false

  async function work(worker: number) {
    for (;;) {
      const beganMs = performance.now()
      if (beganMs >= endMs) return
      if (!started && beganMs >= startMs) {
        started = true
        load.onStart?.()
      }
      const did = await load.step(worker)
      const nowMs = performance.now()
      if (nowMs < startMs || nowMs >= endMs) continue
      if (did) durationsMs.push(nowMs - beganMs)
      else gaveWay += 1
    }
  }
  await Promise.all(Array.from({ length: load.workers }, (_, worker) => work(worker)))

  return resultOf(durationsMs, gaveWay, durationsMs.length / load.seconds)
}

/** Joins several turns of the same length: the throughput is the median's. */
export function joinResults(turns: readonly LoadResult[]): LoadResult {
  const gaveWay = turns.reduce((sum, turn) => sum + turn.gaveWay, 0)
  const rates = turns.map(({ perSecond }) => perSecond)
  return resultOf(
    turns.flatMap(({ durationsMs }) => durationsMs),
    gaveWay,
    quantile(rates, 0.5),
  )
}

const resultOf = (durationsMs: number[], gaveWay: number, perSecond: number): LoadResult => ({
  done: durationsMs.length,
  gaveWay,
  perSecond,
  durationsMs,
  medianMs: quantile(durationsMs, 0.5),
  p99Ms: quantile(durationsMs, 0.99),
})

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

export type ItemGenerator = (bytes?: number) => string

const ITEM_BYTES = 234

const kinds = ['order.created', 'order.paid', 'order.packed', 'order.shipped', 'order.returned']
const currencies = ['EUR', 'EUR', 'EUR', 'USD', 'GBP']
const articles = ['espresso-1kg', 'filter-500g', 'grinder', 'cup-blue', 'cup-white', 'descaler']

/**
 * Items as a shop would queue them: much of each is the same as in the one before (names, kinds, currencies) and some
 * differs (ids, amounts), so that they compress like real ones: 100 of 234 bytes are 23 KB, and about 4.5 KB after zstd.
 */
export function createItems(seed: number): ItemGenerator {
  const random = seeded(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const digits = (count: number) => String(Math.floor(random() * 10 ** count)).padStart(count, '0')
  const hex = (count: number) =>
    Math.floor(random() * 16 ** count)
      .toString(16)
      .padStart(count, '0')
  let timeMs = Date.UTC(2026, 10, 18, 7)
  let order = 730_000 + Math.floor(random() * 10_000)

  return (bytes = ITEM_BYTES) => {
    timeMs += Math.floor(random() * 400)
    order += 1
    const event = {
      id: hex(8) + hex(8) + hex(8) + hex(8),
      kind: pick(kinds),
      at: new Date(timeMs).toISOString(),
      customer: `c-${digits(6)}`,
      order,
      total: `${1 + Math.floor(random() * 300)}.${digits(2)} ${pick(currencies)}`,
      article: pick(articles),
      count: 1 + Math.floor(random() * 4),
      note: '',
    }
    const missing = bytes - JSON.stringify(event).length
    return JSON.stringify({ ...event, note: filler.slice(0, Math.max(0, missing)) })
  }
}

const filler = 'leave with the neighbours if nobody opens; ring twice. '.repeat(8)
