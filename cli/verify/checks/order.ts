import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { drained, numbers, pushAll, valuesIn } from '../items.ts'

const PRIORITY_MAX = 2_147_483_647

export const order: Check = {
  name: 'order',
  promise: 'First in, first out within a priority, and a better priority goes first',
  steps: {
    'Items pushed one by one come back in that order': async ({ queue }) => {
      const it = queue<number>()
      for (const n of numbers(5)) await it.push(n)
      const popped: number[] = []
      for (const _ of numbers(5)) popped.push(...valuesIn(await it.pop()))
      same('the items', popped, numbers(5))
    },

    'Items of one bulk push come back in that order': async ({ queue }) => {
      const it = queue<number>({ items: 120 })
      await pushAll(it, numbers(120))
      same('the items', await drained(it, 120), numbers(120))
    },

    'Single and bulk pushes in turn keep one order': async ({ queue }) => {
      const it = queue<number>({ items: 60 })
      for (const start of [0, 20, 40]) {
        await it.push(start)
        await pushAll(it, numbers(19, start + 1))
      }
      same('the items', await drained(it, 60), numbers(60))
    },

    'Priorities go from 0 to 2,147,483,647, whenever they were pushed': async ({ queue }) => {
      const it = queue<string>()
      await it.pushMany([
        { item: 'last', priority: PRIORITY_MAX },
        { item: 'third', priority: 7 },
        { item: 'first' },
      ])
      await it.push('second', { priority: 1 })
      await it.push('fourth', { priority: 7 })
      const promised = ['first', 'second', 'third', 'fourth', 'last']
      same('the items', await drained(it, 5), promised)
    },

    'A better priority that comes late goes before all that waits': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'], 5)
      const popped = valuesIn(await it.pop())
      await it.push('urgent', { priority: 4 })
      same('the items', [...popped, ...(await drained(it, 4))], ['a', 'urgent', 'b', 'c'])
    },
  },
}
