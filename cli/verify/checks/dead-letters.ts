import type { Queue } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { drained, lock, pushAll } from '../items.ts'
import type { Stage } from '../stage.ts'

export const deadLetters: Check = {
  name: 'dead-letters',
  promise: 'Items can be moved to the dead-letter queue with a reason, and back',
  steps: {
    'A call moves some items of a lock, and its reason goes with them': async (stage) => {
      const it = stage.queue<string>()
      const dead = stage.deadLettersOf(it)
      await pushAll(it, ['good', 'bad', 'later'])
      const { lockId, items } = await lock(it, { count: 2, ttlSeconds: 60 })
      const ids = items.slice(1).map(({ id }) => id)
      const moved = await it.deadLetter(lockId, { ids, reason: 'no such customer' })
      same('the answer', moved, { itemsDeadLettered: 1, deadLetterQueue: dead.id })
      await arrival(stage, dead, 1)
      same('the dead letters', await lettersIn(dead), [['bad', 0, 'no such customer']])
      await it.acknowledge(lockId)
      same('what is left', await drained(it, 3), ['later'])
    },

    'An item that comes back max_deliveries times is moved': (stage) =>
      stage.withSettings(async (it) => {
        const dead = stage.deadLettersOf(it)
        await it.configure({ maxDeliveries: 2 })
        await pushAll(it, ['poison', 'good'])
        for (const time of [1, 2]) {
          const { lockId, items } = await lock(it, { ttlSeconds: 60 })
          same(`delivery ${time}`, [items[0]?.value, items[0]?.deliveries], ['poison', time])
          await it.release(lockId)
        }
        same('what is left', await drained(it, 2), ['good'])
        await arrival(stage, dead, 1)
        const letters = await lettersIn(dead)
        same(
          'the dead letters',
          letters.map(([value]) => value),
          ['poison'],
        )
      }),

    'A redrive puts them back with their priorities, in their order': async (stage) => {
      const it = stage.queue<string>()
      const dead = stage.deadLettersOf(it)
      await pushAll(it, ['a', 'b'], 3)
      await pushAll(it, ['c', 'd'], 1)
      const { lockId } = await lock(it, { count: 4, ttlSeconds: 60 })
      await it.deadLetter(lockId, { reason: 'try again' })
      await arrival(stage, dead, 4)
      await it.push('behind them', { priority: 3 })
      same('a part', await dead.redrive({ limit: 1 }), { itemsRedriven: 1, itemsLeft: 3 })
      same('the rest', await dead.redrive(), { itemsRedriven: 3, itemsLeft: 0 })
      const promised = [
        ['c', 1],
        ['d', 1],
        ['behind them', 3],
        ['a', 3],
        ['b', 3],
      ]
      const { items } = await it.pop({ count: 10 })
      same(
        'the items',
        items.map(({ value, priority }) => [value, priority]),
        promised,
      )
    },
  },
}

const arrival = ({ until }: Stage, dead: Queue, count: number) =>
  until('dead letters to arrive', async () => {
    const state = await dead.inspect({ consistent: true })
    return state.count >= count
  })

const lettersIn = async (dead: Queue) =>
  (await dead.peek()).items.map(({ value, priority, reason }) => [value, priority, reason])
