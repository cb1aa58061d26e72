// Consumers end to end: pushed over HTTP, woken by the stream and the bus, each in its own processes.
// Nothing here calls a consumer, and none of them polls.

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../../testing/index.ts'
import type { Order, Told } from './stack/do-as-told.ts'

/** The sweeper each second. */
const SCHEDULE_SPEED = 60
const QUEUES = 50
const ITEMS_PER_QUEUE = 100

let stack: LocalStack
const heard: Told[] = []
const runs: { readonly queue: string; readonly ended?: string; readonly acknowledged: number }[] =
  []
const other: string[] = []

beforeAll(async () => {
  stack = await startLocalStack({
    port: 0,
    app: `${import.meta.dirname}/stack/app.ts`,
    scheduleSpeed: SCHEDULE_SPEED,
    listeners: {
      onOutput: ({ json, text, functionId }) => {
        if (json && 'told' in json) heard.push(json as unknown as Told)
        else if (json?.message === 'run' && 'batches' in json) runs.push(json as never)
        else if (json?.level !== 'info') other.push(`${functionId}: ${text}`)
      },
    },
  })
}, 120_000)
afterAll(() => stack?.stop())

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${stack.url}/queue/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

const push = (queue: string, ...orders: Order[]) =>
  post(`${queue}/push`, { items: orders.map((item) => ({ item })) })

const countOf = async (queue: string): Promise<number> => {
  const response = await fetch(`${stack.url}/queue/${queue}?consistent=true`)
  return ((await response.json()) as { count: number }).count
}

const of = (queue: string, told: Told['told'] = 'done') =>
  heard.filter((one) => one.queue === queue && one.told === told)
const numbersOf = (queue: string, told: Told['told'] = 'done') => of(queue, told).map(({ n }) => n)
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 50_000
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error(`It has not come to that: ${holds}`)
    await delay(50)
  }
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('A push', () => {
  it('to an idle queue is with the handler each time, and how soon is printed.', async () => {
    for (const n of numbers(60)) {
      const queue = `idle-${n % 5}`
      await push(queue, { n })
      await until(() => of(queue).some((one) => one.n === n))
    }
    const waited = heard
      .filter(({ queue, told }) => queue.startsWith('idle-') && told === 'begun')
      .map(({ waitedMs }) => waitedMs)
      .toSorted((a, b) => a - b)
    expect(waited).toHaveLength(60)
    const [p50, p99] = [waited[30], waited[59]]
    console.info(`from push to handler: p50 ${p50} ms, slowest of 60 ${p99} ms`)
  })
})

describe.concurrent('Consumers', () => {
  it(`keep the order of ${QUEUES} queues at once, and each item is acknowledged once.`, async () => {
    const queues = numbers(QUEUES).map((q) => `orderly-${q}`)
    const all = numbers(ITEMS_PER_QUEUE)
    await Promise.all(queues.map((queue) => push(queue, ...all.map((n) => ({ n })))))
    const isDone = () =>
      heard.filter(({ queue, told }) => queue.startsWith('orderly-') && told === 'done').length
    await until(() => isDone() >= QUEUES * ITEMS_PER_QUEUE)
    for (const queue of queues) expect([queue, numbersOf(queue)]).toEqual([queue, all])
    await until(async () => (await countsWithPrefix('orderly-')) === 0)
    const acknowledged = () =>
      runs
        .filter(({ queue }) => queue.startsWith('orderly-'))
        .reduce((sum, run) => sum + run.acknowledged, 0)
    await until(() => acknowledged() >= QUEUES * ITEMS_PER_QUEUE)
    expect(acknowledged()).toBe(QUEUES * ITEMS_PER_QUEUE)
  })

  it('that compete share a queue, each item once.', async () => {
    const all = numbers(400)
    await push('sharing', ...all.map((n) => ({ n, sleepMs: 2 })))
    await until(async () => of('sharing').length >= 400 && (await countOf('sharing')) === 0)
    expect(numbersOf('sharing').toSorted((a, b) => a - b)).toEqual(all)
  })

  it('whose process dies in the middle of a batch lose nothing, and give up what kills them.', async () => {
    await push('deadly', { n: 0 }, { n: 1, killsUntil: 99 }, { n: 2 }, { n: 3 })
    await until(async () => (await countOf('deadly-deadletter')) === 1)
    await until(async () => (await countOf('deadly')) === 0)
    const { items } = await post('deadly-deadletter/pop', {})
    expect(items).toEqual([{ n: 1, killsUntil: 99 }])
    expect([...new Set(numbersOf('deadly'))].toSorted()).toEqual([0, 2, 3])
    expect(of('deadly', 'begun').filter(({ n }) => n === 1).length).toBeLessThanOrEqual(6)
    expect(numbersOf('deadly').at(-1)).toBe(3)
  })

  it('extend a lock past its life: nobody else gets the item meanwhile.', async () => {
    await push('long', { n: 0, sleepMs: 12_000 }, { n: 1 })
    await until(async () => (await countOf('long')) === 0)
    expect(of('long', 'begun').map(({ n, deliveries }) => [n, deliveries])).toEqual([
      [0, 1],
      [1, 1],
    ])
  })

  it('slower than their time limit are ended, and the item comes again, before those behind it.', async () => {
    await push('limited', { n: 0, hangs: true }, { n: 1 })
    await until(async () => (await countOf('limited')) === 0)
    expect(of('limited', 'begun').map(({ n, deliveries }) => [n, deliveries])).toEqual([
      [0, 1],
      [0, 2],
      [1, 1],
    ])
    const [first, second] = of('limited', 'begun')
    // Not before the process that had it was ended, by the limit of ten seconds.
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(9_000)
    expect(other.join('\n')).toMatch(/handler runs into the time limit.*"queue":"limited"/)
  })

  it('go on in a fresh run if one is not enough.', async () => {
    const all = numbers(10)
    await push('many', ...all.map((n) => ({ n, sleepMs: 1_000 })))
    await until(async () => of('many').length >= 10 && (await countOf('many')) === 0)
    expect(of('many', 'begun').map(({ n, deliveries }) => [n, deliveries])).toEqual(
      all.map((n) => [n, 1]),
    )
    const endings = () => runs.filter(({ queue }) => queue === 'many').map(({ ended }) => ended)
    await until(() => endings().at(-1) === 'empty')
    expect(endings().length).toBeGreaterThan(1)
    expect(new Set(endings().slice(0, -1))).toEqual(new Set(['continued']))
  })
})

/** Over all queues that begin so, by their records. */
async function countsWithPrefix(prefix: string): Promise<number> {
  let count = 0
  let cursor: string | null = null
  do {
    const query = new URLSearchParams({ prefix, ...(cursor !== null && { cursor }) })
    const response = await fetch(`${stack.url}/queues?${query}`)
    const page = (await response.json()) as { queues: { count: number }[]; cursor: string | null }
    for (const queue of page.queues) count += queue.count
    cursor = page.cursor
  } while (cursor !== null && cursor !== undefined)
  return count
}
