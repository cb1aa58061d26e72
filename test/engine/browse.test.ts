import { describe, expect, it } from 'vitest'
import type { BrowseRequest, Queues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import { bulky, idsOf, named, push, pushOneByOne, textsOf, tidy } from './traffic.ts'

/** All pages of so many, one after the other. */
async function pages(queues: Queues, queue: string, request: BrowseRequest): Promise<string[][]> {
  const found: string[][] = []
  let cursor: string | undefined
  do {
    const page = await queues.browse(queue, { ...request, cursor })
    found.push(textsOf(page.items).map((text) => text.slice(1, 4).replace(/\W/, '')))
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

async function twoLanes() {
  const { stage, queues, queue } = onSimulated()
  const { ids } = await push(queues, queue, [...named('a', 4), ...named('b', 3, 5)])
  return { stage, queues, queue, ids, at: (n: number) => ids[n] as string }
}

describe('Browsing', () => {
  it('begins at the item that is named, and pages on from there.', async () => {
    const { queues, queue, at } = await twoLanes()
    expect(await pages(queues, queue, { from: at(2), limit: 3 })).toEqual([
      ['a2', 'a3', 'b0'],
      ['b1', 'b2'],
    ])
    expect(await pages(queues, queue, { from: at(5), limit: 9, priority: 5 })).toEqual([
      ['b1', 'b2'],
    ])
  })

  it('begins where the item was, if it is gone.', async () => {
    const { queues, queue, at } = await twoLanes()
    await queues.cancel(queue, [at(2)])
    expect(await pages(queues, queue, { from: at(2), limit: 9 })).toEqual([
      ['a3', 'b0', 'b1', 'b2'],
    ])
    expect(await pages(queues, queue, { from: at(2), limit: 9, order: 'newest' })).toEqual([
      ['a1', 'a0'],
    ])
  })

  it.each([1, 2, 3, 7, 20])(
    'from the end, %i a page, shows the pop order reversed.',
    async (limit) => {
      const { queues, queue, at } = await twoLanes()
      await queues.cancel(queue, [at(1)])
      const all = ['b2', 'b1', 'b0', 'a3', 'a2', 'a0']
      const found = await pages(queues, queue, { order: 'newest', limit })
      expect(found.flat()).toEqual(all)
      expect(found.every((page, n) => page.length === limit || n === found.length - 1)).toBe(true)
      const some = await pages(queues, queue, { order: 'newest', limit, from: at(5) })
      expect(some.flat()).toEqual(all.slice(1))
    },
  )

  it('from the end reads the tail, chunks, batches and S3 alike.', async () => {
    const { queues, queue } = onSimulated()
    await queues.configure(queue, { segmentSize: 5 })
    const text = (n: number) => `"${String(n).padStart(3, '0')}${' '.repeat(180)}"`
    for (let n = 0; n < 40; n += 1) await push(queues, queue, [{ text: text(n) }])
    await tidy(queues, queue)
    await push(
      queues,
      queue,
      Array.from({ length: 30 }, (_, n) => ({ text: text(40 + n) })),
    )
    await pushOneByOne(
      queues,
      queue,
      Array.from({ length: 5 }, (_, n) => ({ text: text(70 + n) })),
    )
    const found = await pages(queues, queue, { order: 'newest', limit: 30 })
    expect(found.flat().map(Number)).toEqual(Array.from({ length: 75 }, (_, n) => 74 - n))
    expect(found.map((page) => page.length)).toEqual([30, 30, 15])
  })

  it('from the end answers no more than an answer holds.', async () => {
    const { queues, queue } = onSimulated()
    for (let n = 0; n < 30; n += 1) {
      await push(queues, queue, [{ text: bulky(`${n}-`, 250_000) }])
    }
    const found = await pages(queues, queue, { order: 'newest', limit: 100 })
    expect(found.map((page) => page.length)).toEqual([16, 14])
    expect(found.flat().map(Number.parseFloat)).toEqual(
      Array.from({ length: 30 }, (_, n) => 29 - n),
    )
  })

  it('refuses a cursor of the other order, an id that is none, and another order.', async () => {
    const { queues, queue, at } = await twoLanes()
    const { cursor } = await queues.browse(queue, { limit: 1 })
    const refused = (request: BrowseRequest, field: string) =>
      expect(queues.browse(queue, request)).rejects.toMatchObject({ field })
    await refused({ order: 'newest', cursor }, 'cursor')
    await refused({ from: 'nonsense' }, 'from')
    await refused({ from: at(0), priority: 5 }, 'from')
    await refused({ order: 'latest' as never }, 'order')
  })

  it('shows ids that go on to name the items.', async () => {
    const { queues, queue, ids } = await twoLanes()
    const page = await queues.browse(queue, { order: 'newest' })
    expect(idsOf(page.items).reverse()).toEqual(ids)
  })
})
