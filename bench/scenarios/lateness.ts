// How late what is due happens on the stack on this machine, when nobody asks for it. Nobody pops meanwhile,
// because a pop ends an expired lock at once.

import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { quantile } from '../load.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'
import { startStack } from '../stack.ts'

const LOCKS = 120
const SECONDS_MAX = 180
/** The finest that is told here; the stack's functions need the cores too. */
const LOOK_EVERY_MS = 50

export const lateness: Scenario = {
  name: 'lateness',
  title: 'lateness of what is due, on the stack on this machine',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    bench.progress('starting the stack')
    const stack = await startStack()
    try {
      const locksMs = await locks(bench, `http://localhost:${stack.port}`)
      return [
        bar(
          'the end of a lock that nobody settled: p99, ms',
          quantile(locksMs, 0.99),
          atMost(10_000),
          {
            aim: atMost(1_000),
          },
        ),
        info('the end of a lock that nobody settled: p50, ms', quantile(locksMs, 0.5)),
        bar('the earliest, ms', Math.min(...locksMs), atLeast(0)),
      ]
    } finally {
      await stack.stop()
    }
  },
}

/** Locks of 1 s to 3 minutes, each on a queue of its own, taken at moments all over the minute. */
async function locks(bench: Bench, url: string): Promise<number[]> {
  const count = bench.quick ? LOCKS / 10 : LOCKS
  const secondsMax = bench.quick ? SECONDS_MAX / 10 : SECONDS_MAX
  bench.progress(`${count} locks of 1 to ${secondsMax} s`)
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      await delay((n / count) * 60_000)
      const queue = `${url}/queue/${bench.queueName('late')}-${n}`
      await call(`${queue}/push`, { item: n })
      // Many short ones, some long.
      const ttl = 1 + Math.floor((secondsMax - 1) * (n / count) ** 2)
      const { lock_expires_at } = await call(`${queue}/pop?require_ack=true&ttl_seconds=${ttl}`, {})
      const expiresMs = Math.round(Number(lock_expires_at) * 1_000)
      const before = await call(queue)
      await delay(Math.max(0, expiresMs - Date.now() - LOOK_EVERY_MS))
      for (;;) {
        const { version } = await call(queue)
        if (version !== before.version) return Date.now() - expiresMs
        await delay(LOOK_EVERY_MS)
      }
    }),
  )
}

async function call(url: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const request = body && { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(url, request)
  if (!response.ok) throw new Error(`${url} was answered ${response.status}`)
  return (await response.json()) as Record<string, unknown>
}
