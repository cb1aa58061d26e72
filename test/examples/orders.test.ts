import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { startLocalStack } from '../../testing/index.ts'

const app = join(import.meta.dirname, '../../examples/orders/app.ts')

it('The example ships an order once, though its neighbour in the batch fails and dies.', async () => {
  const output: string[] = []
  const onOutput = ({ text }: { readonly text: string }) => void output.push(text)
  const stack = await startLocalStack({ port: 0, app, listeners: { onOutput } })
  try {
    const orders = createClient({ url: stack.url }).queue('orders')
    const dead = createClient({ url: stack.url }).queue('orders-deadletter')
    await orders.pushMany([
      { item: { order: 17, address: 'Rome' } },
      { item: { order: 18, address: 'nowhere' } },
      { item: { order: 19, address: null } },
      { item: { order: 20, address: 'Oslo' } },
    ])
    const settled = async () => (await dead.peek()).items.map(({ reason }) => reason).sort()
    await expect.poll(settled, { timeout: 30_000 }).toEqual(['max_deliveries', 'no address'])
    await expect.poll(async () => (await orders.inspect()).count, { timeout: 30_000 }).toBe(0)
    const times = (what: string) => output.join('\n').split(what).length - 1
    expect(times('order 17 is shipped to Rome')).toBe(1)
    expect(times('order 20 is shipped to Oslo')).toBe(1)
    expect(times('order 18 cannot be shipped')).toBe(3)
  } finally {
    await stack.stop()
  }
})
