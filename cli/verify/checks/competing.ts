import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'
import { lock, numbers, pushAll, together, valuesIn } from '../items.ts'

const competing = { competing: true, ttlSeconds: 60 } as const
const CONSUMERS = 6

export const competingConsumers: Check = {
  name: 'competing',
  promise: 'Competing consumers share a queue, and an item is in at most one live lock',
  steps: {
    'Locks that are taken at the same time have no item in common': async ({ queue }) => {
      const it = queue<number>({ items: CONSUMERS * 4 })
      await pushAll(it, numbers(CONSUMERS * 4))
      const pops = numbers(CONSUMERS).map(() => () => lock(it, { ...competing, count: 4 }))
      const taken = (await together(pops)).map(valuesIn)
      const all = taken.flat().sort((a, b) => a - b)
      same('the items of all locks', all, numbers(CONSUMERS * 4))
      for (const items of taken) {
        same(
          'the order within a lock',
          items,
          items.toSorted((a, b) => a - b),
        )
      }
    },

    'A competing pop passes by live locks, and an exclusive one is refused': async (stage) => {
      const it = stage.queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, competing)
      const second = await lock(it, competing)
      same('the items', [first, second].map(valuesIn), [['a'], ['b']])
      holds(first.lockId !== second.lockId, 'two locks have one id')
      await refused(stage.once(it).pop(), { code: 'QUEUE_LOCKED', status: 423 })
    },

    'An item that one of them returns goes to the next pop first': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, competing)
      await lock(it, competing)
      await it.release(first.lockId)
      same('the items', valuesIn(await lock(it, { ...competing, count: 2 })), ['a', 'c'])
    },
  },
}
