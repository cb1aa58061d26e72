import { expect, it } from 'vitest'
import type { PushItem } from '../../lambdas/engine/queues.ts'
import { useEmbedded } from './stage.ts'
import { drain, named, popItems, push, textsOf } from './traffic.ts'

const stage = useEmbedded()

/** One item in each of so many lanes, best priority last. */
const oneEach = (count: number, from = 0): PushItem[] =>
  Array.from({ length: count }, (_, index) => ({
    text: String(from + count - 1 - index),
    priority: from + count - 1 - index,
  }))

const numbers = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index))

it('A bulk push over several priorities comes back best priority first, in order in each.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  const items = [...named('late', 3, 2_147_483_647), ...named('soon', 2, 0), ...named('then', 2, 7)]
  const { ids } = await push(queues, queue, items)
  const popped = await popItems(queues, queue, { count: 100 })
  expect(textsOf(popped.items)).toEqual([
    ...textsOf(named('soon', 2)),
    ...textsOf(named('then', 2)),
    ...textsOf(named('late', 3)),
  ])
  expect(popped.items.map(({ id }) => id)).toEqual([3, 4, 5, 6, 0, 1, 2].map((i) => ids[i]))
})

it('One pop takes one item from each of 100 priorities.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  for (let from = 0; from < 100; from += 50) await push(queues, queue, oneEach(50, from))
  const { items, more } = await popItems(stage.engine(), queue, { count: 100 })
  expect(textsOf(items)).toEqual(numbers(100))
  expect(more).toBe(false)
})

it('A bulk push may go to 1,000 priorities at once, in a new queue and in one that is there.', async () => {
  for (const isThere of [false, true]) {
    const [queues, queue] = [stage.engine(), stage.queue()]
    if (isThere) await push(queues, queue, [{ text: '0', priority: 0 }])
    const { ids } = await push(queues, queue, oneEach(1_000))
    expect(new Set(ids).size).toBe(1_000)
    const expected = isThere ? ['0', ...numbers(1_000)] : numbers(1_000)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(expected)
  }
})
