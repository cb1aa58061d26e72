// From a call over HTTP to a rule's target, through everything that is deployed.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { DetailType } from '../../../../lambdas/runtime/names.ts'
import { type LocalStack, startLocalStack } from '../../../../testing/index.ts'
import type { Detail } from './a-bus.ts'
import { expectDocumented } from './event-schemas.ts'

type BusEvent = {
  readonly 'detail-type': DetailType
  readonly source: string
  readonly account: string
  readonly time: string
  readonly detail: Detail
}

let stack: LocalStack
const heard: { readonly event: BusEvent; readonly atMs: number }[] = []
const notices: string[] = []

beforeAll(async () => {
  stack = await startLocalStack({
    port: 0,
    app: join(import.meta.dirname, 'listening/app.ts'),
    // A minute of the schedule in a second.
    scheduleSpeed: 60,
    listeners: {
      onOutput({ functionId, json }) {
        if (functionId.startsWith('Listener') && json?.detail !== undefined) {
          heard.push({ event: json as unknown as BusEvent, atMs: Date.now() })
        }
      },
      onNotice: (sentence) => notices.push(sentence),
    },
  })
}, 120_000)
afterAll(() => stack?.stop())

async function call(queue: string, verb: string, body: object) {
  const response = await fetch(`${stack.url}/queue/${queue}/${verb}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as { lock_id: string; items: unknown[] }
}

const push = (queue: string, ...items: unknown[]) =>
  call(queue, 'push', { items: items.map((item) => ({ item, priority: 0 })) })
const pop = (queue: string, parameters = '') => call(queue, `pop?${parameters}`, {})
const lock = (queue: string, parameters = 'count=10') =>
  pop(queue, `require_ack=true&${parameters}`)

const eventsOf = (queue: string): BusEvent[] =>
  heard.map(({ event }) => event).filter(({ detail }) => detail.queue === queue)
const kindsOf = (queue: string): string[] => eventsOf(queue).map((event) => event['detail-type'])

/** On a busy machine, too. */
const COMES_WITHIN_MS = 20_000

/** Waits for these of the queue, and a moment for others that should not be. */
async function expectEvents(queue: string, ...kinds: DetailType[]): Promise<BusEvent[]> {
  await vi.waitFor(() => expect(kindsOf(queue).length).toBeGreaterThanOrEqual(kinds.length), {
    timeout: COMES_WITHIN_MS,
    interval: 20,
  })
  await delay(150)
  const events = eventsOf(queue)
  expect(events.map((event) => event['detail-type']).toSorted()).toEqual(kinds.toSorted())
  for (const { source, detail, ...event } of events) {
    expect(source).toBe('pushpop')
    expectDocumented(event['detail-type'], detail)
  }
  return events
}

describe('Over HTTP and the bus', () => {
  it('the first push to a queue is an event, and those behind it are none.', async () => {
    await push('orders', { order: 17 })
    const [event] = await expectEvents('orders', 'Items Available')
    await push('orders', { order: 18 }, { order: 19 })
    await expectEvents('orders', 'Items Available')
    expect(event?.detail).toMatchObject({
      queue: 'orders',
      count: 1,
      locked: 0,
      priorities: { 0: { count: 1, locked: 0 } },
    })
    expect(Math.abs(Date.parse(event?.time ?? '') - Date.now())).toBeLessThan(60_000)
  })

  it('draining it is one, and so is the push after that.', async () => {
    await push('drained', 1, 2)
    await pop('drained')
    await pop('drained')
    await expectEvents('drained', 'Items Available', 'Queue Drained')
    await push('drained', 3)
    await expectEvents('drained', 'Items Available', 'Queue Drained', 'Items Available')
  })

  it('a lock that expires is one, and its items are there again.', async () => {
    await push('expired', 1, 2)
    await lock('expired', 'count=10&ttl_seconds=5')
    const events = await expectEvents(
      'expired',
      'Items Available',
      'Lock Expired',
      'Items Available',
    )
    const expired = events.find((event) => event['detail-type'] === 'Lock Expired')
    expect(expired?.detail).toMatchObject({
      items: 2,
      lock_priorities: { 0: { count: 2 } },
      count: 2,
      locked: 0,
    })
  }, 30_000)

  it('dead-lettering is one, and the dead-letter queue has its own.', async () => {
    await push('dead', { card: 'a secret' }, 2)
    const { lock_id } = await lock('dead')
    await call('dead', 'dead-letter', { lock_id, reason: 'no address' })
    const events = await expectEvents(
      'dead',
      'Items Available',
      'Item Dead-Lettered',
      'Queue Drained',
    )
    const dead = events.find((event) => event['detail-type'] === 'Item Dead-Lettered')
    expect(dead?.detail).toMatchObject({
      priority: 0,
      items: 2,
      reason: 'no address',
      dead_letter_queue: 'dead-deadletter',
    })
    const [arrived] = await expectEvents('dead-deadletter', 'Items Available')
    expect(arrived?.detail).toMatchObject({ count: 2 })
    expect(JSON.stringify(heard)).not.toMatch(new RegExp(`a secret|${lock_id}`))
  })

  it('comes each time, and how soon is printed.', async () => {
    const tookMs: number[] = []
    for (let n = 0; n < 30; n += 1) {
      const queue = `soon-${n}`
      const startedMs = Date.now()
      await push(queue, n)
      await vi.waitFor(() => expect(kindsOf(queue)).toEqual(['Items Available']), {
        timeout: COMES_WITHIN_MS,
        interval: 2,
      })
      tookMs.push((heard.at(-1)?.atMs ?? 0) - startedMs)
    }
    tookMs.sort((a, b) => a - b)
    console.log(`push to target: p50 ${tookMs[15]} ms, p97 ${tookMs[28]} ms`)
  }, 60_000)

  it('is told once each, by ids that no two share, and without a word of trouble.', () => {
    const ids = heard.map(({ event }) => event.detail.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(stack.givenUp).toEqual([])
    expect(notices).toEqual([])
    const usual = /^Authorisation is not checked/
    expect(stack.plan.leftOut.filter((sentence) => !usual.test(sentence))).toEqual([])
  })
})
