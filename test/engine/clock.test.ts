import { expect, it } from 'vitest'
import { ManualClock } from './manual-clock.ts'
import { openSimulated } from './stage.ts'

const stage = openSimulated()
const item = { text: '{"order":17}' }

it('A clock with fractions, as that of `performance`, changes no item: what is pushed comes back.', async () => {
  const clock = new ManualClock()
  clock.pass(0.7)
  const [queues, queue] = [stage.engine({ clock }), stage.queue()]
  await queues.push(queue, { items: [item], idempotencyKey: 'once' })
  await queues.push(queue, { items: [item], idempotencyKey: 'once' })
  const popped = await queues.pop(queue, { count: 2, requireAck: true, ttlSeconds: 30 })
  expect(popped).toMatchObject({ items: [{ ...item, pushedAtMs: Math.floor(clock.nowMs()) }] })
})

it('A clock beyond the year 2059 makes a push fail: nothing is written that would be read as another item.', async () => {
  const clock = new ManualClock()
  clock.pass(36 ** 8)
  const [queues, queue] = [stage.engine({ clock }), stage.queue()]
  await expect(queues.push(queue, { items: [item] })).rejects.toThrow('times end on 2059-05-25')
  expect((await queues.inspect(queue)).count).toBe(0)
})
