import type { Check } from '../check.ts'
import { holds, same } from '../claims.ts'
import { drained, lock, numbers, pushAll } from '../items.ts'

export const looking: Check = {
  name: 'looking',
  promise: 'Looking shows what is there, in order, and changes nothing',
  steps: {
    'A browse shows all items, page by page, in the order of pops': async ({ queue }) => {
      const it = queue<number>({ items: 50 })
      await pushAll(it, numbers(30, 20), 5)
      await pushAll(it, numbers(20))
      const seen: number[] = []
      for await (const { value } of it.items({ limit: 15 })) {
        seen.push(value)
        holds(seen.length <= 50, 'a browse by its cursor showed more items than there are')
      }
      same('the items of the browse', seen, numbers(50))
      same('the items', await drained(it, 50), numbers(50))
    },

    'A browse of one priority shows only its items': async ({ queue }) => {
      const it = queue<number>()
      await pushAll(it, numbers(3), 1)
      await pushAll(it, numbers(3, 3), 2)
      const { items } = await it.peek({ priority: 2 })
      same(
        'the items',
        items.map(({ value, priority }) => [value, priority]),
        [
          [3, 2],
          [4, 2],
          [5, 2],
        ],
      )
    },

    'A queue tells its counts, its priorities and its locks': async ({ queue }) => {
      const it = queue<number>()
      await pushAll(it, numbers(3), 1)
      await pushAll(it, numbers(4), 9)
      const held = await lock(it, { count: 2, ttlSeconds: 60 })
      const { count, lockedCount, priorities, locks } = await it.inspect({ consistent: true })
      same('count and locked_count', [count, lockedCount], [7, 2])
      same(
        'the priorities',
        priorities.map((lane) => [lane.priority, lane.count]),
        [
          [1, 3],
          [9, 4],
        ],
      )
      same('the locks', locks, [{ expiresAtMs: held.lock?.expiresAtMs, count: 2, priorities: [1] }])
      const shown = (await it.peek()).items.map(({ state }) => state)
      same('locked items', shown.filter((state) => state === 'locked').length, 2)
    },

    'A queue that nobody has used is empty, and looking does not make it': async (stage) => {
      const it = stage.queue()
      const { count, version } = await it.inspect({ consistent: true })
      same('count and version', [count, version], [0, 0])
      same('the items', (await it.peek()).items, [])
      for await (const { id } of stage.client.queues({ prefix: it.id })) {
        holds(false, `the list has ${id} after it was only looked at`)
      }
    },

    'The list finds queues by their prefix, page by page': async ({ queue, client, until }) => {
      const made = [queue<number>(), queue<number>(), queue<number>()]
      for (const [at, it] of made.entries()) await pushAll(it, numbers(at + 1))
      const promised = made.map(({ id }, at) => ({ id, count: at + 1 }))
      const prefix = sharedStart(made.map(({ id }) => id))
      // The list reads an index, which follows the queues within a second or so.
      await until('the list to show three new queues', async () => {
        const listed: { readonly id: string; readonly count?: number }[] = []
        for await (const one of client.queues({ prefix, pageSize: 2 })) {
          if (promised.some(({ id }) => id === one.id)) listed.push(one)
        }
        return JSON.stringify(listed) === JSON.stringify(promised.toSorted(byId))
      })
    },
  },
}

type Named = { readonly id: string }

const byId = (a: Named, b: Named): number => (a.id < b.id ? -1 : 1)

function sharedStart([first = '', ...others]: readonly string[]): string {
  let length = first.length
  while (others.some((other) => !other.startsWith(first.slice(0, length)))) length -= 1
  return first.slice(0, length)
}
