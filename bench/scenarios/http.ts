// The stack on this machine over HTTP, as `npm start` runs it: gateway, functions in separate processes, stores. The
// clients are in this process, so they share the two cores with everything else.

import { Agent, request } from 'node:http'
import type { Bench, Scenario } from '../bench.ts'
import { createItems } from '../items.ts'
import { quantile, runLoad } from '../load.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'
import { startStack } from '../stack.ts'

const CLIENTS = 16
const BYTES = 200
/** Half the rate that the bar asks for. */
const CALM_PER_SECOND = 200

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
