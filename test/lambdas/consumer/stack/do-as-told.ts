import { setTimeout as delay } from 'node:timers/promises'
import { consumer } from '../../../../lambdas/consumer/index.ts'

/** What an item wants of the one who handles it. */
export type Order = {
  readonly n: number
  readonly sleepMs?: number
  readonly fails?: boolean
  /** On this and earlier deliveries the process ends in the middle of the work. */
  readonly killsUntil?: number
  /** On the first delivery the handler never ends. */
  readonly hangs?: boolean
}

export type Told = {
  readonly told: 'begun' | 'done'
  readonly queue: string
  readonly n: number
  readonly deliveries: number
  readonly batch: number
  readonly atMs: number
  readonly waitedMs: number
}

export const handler = consumer<Order>(async (items, { queue }) => {
  for (const { value, deliveries, pushedAtMs } of items) {
    const tell = (told: Told['told']) => {
      const atMs = Date.now()
      const { n } = value
      const waitedMs = atMs - pushedAtMs
      const line = { told, queue, n, deliveries, batch: items.length, atMs, waitedMs }
      process.stdout.write(`${JSON.stringify(line satisfies Told)}\n`)
    }
    tell('begun')
    if (value.sleepMs !== undefined) await delay(value.sleepMs)
    if (deliveries <= (value.killsUntil ?? 0)) {
      // What was told has to get out first.
      await delay(50)
      process.kill(process.pid, 'SIGKILL')
      await delay(10_000)
    }
    if (value.hangs && deliveries === 1) await new Promise(() => setInterval(() => {}, 60_000))
    if (value.fails) throw new Error(`Number ${value.n} fails`)
    tell('done')
  }
})
