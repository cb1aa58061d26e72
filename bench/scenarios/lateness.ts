// How late the stack on this machine does what is due. No consumer pops meanwhile, because a pop ends an expired
// lock at once.

import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { quantile } from '../load.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'
import { startStack } from '../stack.ts'

const COUNT = 120
const SECONDS_MAX = 180
/** We measure no finer than this, because the stack's functions need the cores too. */
const LOOK_EVERY_MS = 50

export const lateness: Scenario = {
  name: 'lateness',
  title: 'lateness of what is due, on the stack on this machine',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    bench.progress('starting the stack')
    const stack = await startStack()
    try {
      const latenesses = (kind: string, measure: Measure) =>
        overAMinute(bench, `http://localhost:${stack.port}`, kind, measure)
      const [locksMs, delaysMs, retriesMs] = await Promise.all([
        latenesses('lock', endOfLock),
        latenesses('delay', comingDue),
        latenesses('retry', comingBack),
      ])
      const p99 = (kind: string, ms: readonly number[], most: number) =>
        bar(`${kind}: p99, ms`, quantile(ms, 0.99), atMost(most), { aim: atMost(1_000) })
      const lock = 'the end of a lock that nobody settled'
      const [delayed, retry] = ['a delayed item in its lane', "a retry's wake-up"]
      return [
        p99(lock, locksMs, 10_000),
        info(`${lock}: p50, ms`, quantile(locksMs, 0.5)),
        p99(delayed, delaysMs, 3_000),
        bar(`${delayed}: p50, ms`, quantile(delaysMs, 0.5), atMost(1_000), { aim: atMost(300) }),
        p99(retry, retriesMs, 3_000),
        info(`${retry}: p50, ms`, quantile(retriesMs, 0.5)),
        bar('the earliest, ms', Math.min(...locksMs, ...delaysMs, ...retriesMs), atLeast(0)),
      ]
    } finally {
      await stack.stop()
    }
  },
}

/** Measures in a separate queue how many milliseconds late this was. */
type Measure = (queue: string, seconds: number) => Promise<number>

/** Delays of 1 s to 3 minutes, begun at moments spread over the minute. */
async function overAMinute(bench: Bench, url: string, kind: string, measure: Measure) {
  const count = bench.quick ? COUNT / 10 : COUNT
  const secondsMax = bench.quick ? 40 : SECONDS_MAX
  bench.progress(`${count} of 1 to ${secondsMax} s: ${kind}`)
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      await delay((n / count) * 60_000)
      // Many short ones, some long.
      const seconds = 1 + Math.floor((secondsMax - 1) * (n / count) ** 2)
      return measure(`${url}/queue/${bench.queueName(kind)}-${n}`, seconds)
    }),
  )
}

async function endOfLock(queue: string, seconds: number): Promise<number> {
  const { expiresMs } = await lockOne(queue, seconds)
  return changedAfter(queue, expiresMs)
}

async function comingBack(queue: string, seconds: number): Promise<number> {
  const { lockId } = await lockOne(queue, 600)
  await call(`${queue}/release`, { lock_id: lockId, delay_seconds: seconds })
  const { details } = await call(`${queue}/items`)
  const [item] = details as { retry_at: number }[]
  return changedAfter(queue, Math.round(1_000 * Number(item?.retry_at)))
}

async function comingDue(queue: string, seconds: number): Promise<number> {
  const due = Math.ceil(Date.now() / 1_000) + seconds
  await call(`${queue}/push`, { items: [{ item: 1, deliver_at: due }] })
  return lateBy(queue, 1_000 * due, ({ count }) => count === 1)
}

async function lockOne(queue: string, seconds: number) {
  await call(`${queue}/push`, { item: 1 })
  const lock = await call(`${queue}/pop?require_ack=true&ttl_seconds=${seconds}`, {})
  const expiresMs = Math.round(Number(lock.lock_expires_at) * 1_000)
  return { lockId: lock.lock_id, expiresMs }
}

async function changedAfter(queue: string, dueMs: number): Promise<number> {
  const before = await call(queue)
  return lateBy(queue, dueMs, ({ version }) => version !== before.version)
}

async function lateBy(
  queue: string,
  dueMs: number,
  hasHappened: (state: Record<string, unknown>) => boolean,
): Promise<number> {
  await delay(Math.max(0, dueMs - Date.now() - LOOK_EVERY_MS))
  for (;;) {
    const state = await call(queue)
    if (hasHappened(state)) return Date.now() - dueMs
    await delay(LOOK_EVERY_MS)
  }
}

async function call(url: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const request = body && { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(url, request)
  if (!response.ok) throw new Error(`${url} was answered ${response.status}`)
  return (await response.json()) as Record<string, unknown>
}
