import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { drained, lock, numbers, pushAll, valuesIn } from '../items.ts'

export const purge: Check = {
  name: 'purge',
  promise: 'A purge empties a queue, or one priority of it',
  steps: {
    'All items go, locked ones too, and the queue can be used again': async ({ queue }) => {
      const it = queue<number>({ items: 160 })
      await pushAll(it, numbers(150), 1)
      await pushAll(it, numbers(10), 2)
      await lock(it, { count: 20, ttlSeconds: 60 })
      same('the answer', await it.purge(), { itemsPurged: 160 })
      same('the count', (await it.inspect({ consistent: true })).count, 0)
      await it.push(7)
      same('the items', valuesIn(await it.pop({ count: 10 })), [7])
    },

    'The items of one priority go, and the others stay in order': async ({ queue }) => {
      const it = queue<string>()
      await it.pushMany([
        { item: 'a', priority: 1 },
        { item: 'b', priority: 2 },
        { item: 'c', priority: 3 },
        { item: 'd', priority: 2 },
        { item: 'e', priority: 1 },
      ])
      same('the answer', await it.purge({ priority: 2 }), { itemsPurged: 2 })
      same('the items', await drained(it, 5), ['a', 'e', 'c'])
    },
  },
}
