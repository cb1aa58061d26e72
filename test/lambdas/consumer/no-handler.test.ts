// Without a handler, a consumer would take items only to fail them, until they are dead letters.

import { expect, it } from 'vitest'
import { consumeMany } from '../../../lambdas/consumer/index.ts'
import { clientOf, succeeds } from '../../client/scripted.ts'
import { openSimulated } from '../../engine/stage.ts'

const given = [
  [undefined, 'undefined'],
  [null, 'null'],
  [{ batchSize: 5 }, 'of type object'],
] as const

// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
type Any = any

it.each(given)('consume refuses the handler %j before it takes an item.', async (handler, what) => {
  const { queue, asked } = clientOf([succeeds])
  const refusal = new TypeError(`The handler must be a function, and is ${what}`)
  await expect(queue.consume(handler as Any)).rejects.toThrow(refusal)
  expect(asked).toEqual([])
})

it.each(given)(
  'consumeMany of the client refuses the handler %j likewise.',
  async (handler, what) => {
    const { client, asked } = clientOf([succeeds])
    const refusal = new TypeError(`The handler must be a function, and is ${what}`)
    await expect(client.consumeMany({ prefix: '' }, handler as Any)).rejects.toThrow(refusal)
    expect(asked).toEqual([])
  },
)

it.each(given)(
  'consumeMany on the table refuses the handler %j likewise.',
  async (handler, what) => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.push(queue, { items: [{ text: '17' }] })
    const before = await queues.inspect(queue)
    const refusal = new TypeError(`The handler must be a function, and is ${what}`)
    await expect(consumeMany(queues, { prefix: queue }, handler as Any)).rejects.toThrow(refusal)
    expect(await queues.inspect(queue)).toEqual(before)
  },
)
