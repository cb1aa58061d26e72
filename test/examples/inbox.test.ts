import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'

const app = join(import.meta.dirname, '../../examples/inbox/app.ts')
let stack: LocalStack
beforeAll(async () => {
  stack = await startLocalStack({ port: 0, app })
})
afterAll(() => stack?.stop())

it('A rule pushes an alert of what a queue gave up, with no function between.', async () => {
  const client = createClient({ url: stack.url })
  const orders = client.queue('orders')
  await orders.push({ order: 17 })
  const { lock } = await orders.pop({ requireAck: true })
  await orders.deadLetter(lock?.id ?? '', { reason: 'no address' })
  const alerts = client.queue('alerts')
  const values = async () => (await alerts.peek()).items.map(({ value }) => value)
  await expect
    .poll(values, { timeout: 30_000 })
    .toEqual([{ event: expect.any(String), queue: 'orders', items: 1, reason: 'no address' }])
})

it('Pushes that are sent to the inbox come into their queue in order, each once.', async () => {
  const queue = createClient({ url: stack.url }).queue('async')
  const keys = Array.from({ length: 30 }, (_, index) => `key-${index}`)
  for (const [index, idempotencyKey] of keys.entries()) {
    const options = { respondAsync: true, idempotencyKey }
    expect(await queue.push(index, options)).toEqual({ messageId: expect.any(String) })
    // As a caller would who has lost the answer.
    await queue.push(index, options)
  }
  const values = async () => (await queue.peek({ limit: 100 })).items.map(({ value }) => value)
  await expect.poll(values, { timeout: 30_000 }).toEqual(keys.map((_, index) => index))
  const many = Array.from({ length: 5 }, (_, index) => ({ item: index, priority: 1 }))
  expect(await queue.pushMany(many, { respondAsync: true })).toEqual({
    itemsPushed: 0,
    ids: [],
    itemsAccepted: 5,
    messageId: expect.any(String),
  })
})
