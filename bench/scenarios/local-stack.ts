// The stack as `npm start` runs it on this machine: how fast it answers, and how late it does what is due.

import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { createItems, quantile, runLoad } from '../load.ts'
import { atLeast, atMost, rowsOf } from '../report.ts'

const CLIENTS = 16
const BYTES = 200
/** Half the rate that the bar asks for. */
const CALM_PER_SECOND = 200

/**
 * The stack on this machine over HTTP, as `npm start` runs it: gateway, functions in separate processes, stores. The
 * clients are in this process, so they share the two cores with everything else.
 */
export const http: Scenario = {
  name: 'http',
  title: 'pushes over HTTP to the stack on this machine',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    bench.progress('starting the stack')
    const stack = await startStack()
    try {
      const ofTheirOwn = await load(bench, stack.port, (client) => `tenant-${client}`)
      const ofAll = await load(bench, stack.port, () => 'shared')
      const calmMs = await pace(bench, stack.port)
      return [
        bar('16 clients, a queue each: pushes/s', ofTheirOwn.perSecond, atLeast(400)),
        info('16 clients, a queue each: p99, ms', ofTheirOwn.p99Ms),
        info('16 clients, one queue: pushes/s', ofAll.perSecond),
        info('16 clients, one queue: p99, ms', ofAll.p99Ms),
        bar('200 pushes/s: p99, ms', quantile(calmMs, 0.99), atMost(100)),
        info('200 pushes/s: p50, ms', quantile(calmMs, 0.5)),
      ]
    } finally {
      await stack.stop()
    }
  },
}

function load(bench: Bench, port: number, queueOf: (client: number) => string) {
  const pushes = Array.from({ length: CLIENTS }, (_, client) => createClient(port, client, queueOf))
  bench.progress(`${CLIENTS} clients, queues such as ${queueOf(0)}`)
  return runLoad({
    workers: CLIENTS,
    warmUpSeconds: bench.quick ? 1 : 4,
    seconds: bench.seconds(10),
    async step(client) {
      await (pushes[client] as () => Promise<void>)()
      return true
    },
  })
}

/** At a steady rate, whether or not the one before has been answered. */
async function pace(bench: Bench, port: number): Promise<number[]> {
  bench.progress(`${CALM_PER_SECOND} pushes a second`)
  const pushes = Array.from({ length: CLIENTS }, (_, client) =>
    createClient(port, client, () => `calm-${client}`),
  )
  const warmUp = CALM_PER_SECOND
  const count = warmUp + CALM_PER_SECOND * bench.seconds(10)
  const durationsMs: number[] = []
  const startMs = performance.now()
  const under: Promise<void>[] = []
  for (let n = 0; n < count; n += 1) {
    const dueMs = startMs + (n * 1000) / CALM_PER_SECOND
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    // Measure from when the push was due, so that a client that is held up does not hide what others would feel.
    const push = (pushes[n % CLIENTS] as () => Promise<void>)().then(() => {
      if (n >= warmUp) durationsMs.push(performance.now() - dueMs)
    })
    under.push(push)
  }
  await Promise.all(under)
  return durationsMs
}

function createClient(
  port: number,
  client: number,
  queueOf: (client: number) => string,
): () => Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const item = createItems(client)
  const path = `/queue/${queueOf(client)}/push`
  return () =>
    new Promise((resolve, reject) => {
      const body = `{"item":${item(BYTES)}}`
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const outgoing = request({ agent, port, host: '127.0.0.1', method: 'POST', path, headers })
      outgoing.on('response', (response) => {
        response.resume()
        response.on('end', () => {
          if (response.statusCode === 200) resolve()
          else reject(new Error(`A push was answered ${response.statusCode}`))
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

const COUNT = 120
const SECONDS_MAX = 180
/** We measure no finer than this, because the stack's functions need the cores too. */
const LOOK_EVERY_MS = 50

/**
 * How late the stack on this machine does what is due. No consumer pops meanwhile, because a pop ends an expired
 * lock at once.
 */
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

/** The stack on this machine in a separate process, as `npm start` runs it. */
export async function startStack(): Promise<{ port: number; stop(): Promise<void> }> {
  const script = join(import.meta.dirname, '../../scripts/start.ts')
  const child = spawn(process.execPath, [script, '--port', '0', '--memory'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The stack ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /PushPop is at http:\/\/localhost:(\d+)/.exec(line)
      if (address) resolve(Number(address[1]))
    })
  })
  return {
    port,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
