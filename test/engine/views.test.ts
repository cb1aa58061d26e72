import { describe, expect, it } from 'vitest'
import { recordKey } from '../../engine/core/keys.ts'
import type { BrowseRequest, Queues } from '../../engine/queues.ts'
import { openSimulated, useEmbedded } from './stage.ts'
import {
  drain,
  expectCode,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

const stage = useEmbedded()

async function browseAll(queues: Queues, queue: string, request: BrowseRequest = {}) {
  const items = []
  const sizes: number[] = []
  let cursor: string | undefined
  do {
    const page = await queues.browse(queue, { ...request, ...(cursor !== undefined && { cursor }) })
    items.push(...page.items)
    sizes.push(page.items.length)
    cursor = page.cursor
  } while (cursor !== undefined)
  return { items, sizes }
}

describe('A browse', () => {
  it('shows items of every place and state in pop order, a page at a time, and takes none.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 4, maxDeliveries: 2 })
    await push(queues, queue, named('a', 60, 3))
    await pushOneByOne(queues, queue, named('a', 30, 3, 60))
    await tidy(queues, queue)
    await push(queues, queue, [...named('b', 3, 9), ...named('c', 2, 1)])
    // c0 is settled, c1 comes back, a0 to a2 are locked, a1 is settled beside them.
    await popItems(queues, queue)
    const returned = await lockItems(queues, queue)
    await queues.release(queue, { lockId: returned.lock.id })
    const again = await lockItems(queues, queue)
    const held = await lockItems(queues, queue, { count: 3, competing: true })
    await queues.acknowledge(queue, { lockId: held.lock.id, ids: [held.items[1]?.id ?? ''] })
    await queues.release(queue, { lockId: again.lock.id })

    const before = await stage.stored(queue)
    const { items, sizes } = await browseAll(stage.engine(), queue, { limit: 20 })
    expect(await stage.stored(queue)).toEqual(before)
    const expected = ['"a0"', ...textsOf(named('a', 88, 3, 2)), ...textsOf(named('b', 3))]
    expect(textsOf(items)).toEqual(expected)
    expect(items.map(({ state }) => state)).toEqual([
      'locked',
      'locked',
      ...Array(expected.length - 2).fill('ready'),
    ])
    expect(items[0]).toMatchObject({ priority: 3, deliveries: 1, id: held.items[0]?.id })
    expect(items[2]).toMatchObject({ deliveries: 0 })
    expect(sizes).toEqual([20, 20, 20, 20, 12])
    stage.clock.pass(31_000)
    expect((await queues.browse(queue)).items[0]).toMatchObject({ state: 'ready' })
  })

  it('goes on where its page ended, though the queue moved on meanwhile.', async () => {
    const { queues, queue } = await stage.holding([...named('a', 10), ...named('b', 5, 2)])
    const first = await queues.browse(queue, { limit: 4 })
    await popItems(queues, queue, { count: 6 })
    await push(queues, queue, named('a', 1, 0, 10))
    const cursor = first.cursor as string
    const rest = await stage.engine().browse(queue, { limit: 100, cursor })
    expect(textsOf(rest.items)).toEqual(textsOf([...named('a', 5, 0, 6), ...named('b', 5)]))
    // Drained, dropped and made anew: the lane is another one, read from its front.
    await drain(queues, queue)
    expect(await queues.browse(queue, { cursor })).toEqual({ items: [] })
    await push(queues, queue, named('d', 1, 2))
    expect(textsOf((await queues.browse(queue, { cursor })).items)).toEqual(['"d0"'])
  })

  it('refuses what it cannot use.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    for (const limit of [0, 101, 1.5, Number.NaN]) {
      await expectCode(queues.browse(queue, { limit }), 'INVALID_PARAMETER')
    }
    for (const cursor of ['', 'nonsense', '!!', Buffer.from('1.2.3').toString('base64url')]) {
      await expectCode(queues.browse(queue, { cursor }), 'INVALID_PARAMETER')
    }
    for (const priority of [-1, 0.5, 2_147_483_648]) {
      await expectCode(queues.browse(queue, { priority }), 'INVALID_PRIORITY')
    }
    await expectCode(queues.browse('no/queue'), 'INVALID_QUEUE_ID')
  })
})

describe('An inspection', () => {
  it('counts items by state and says where each lane lies.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 5, bufferSegments: 1, maxDeliveries: 9 })
    const startMs = stage.clock.nowMs()
    await push(queues, queue, named('a', 3, 7))
    stage.clock.pass(1_000)
    const padded = named('b', 63, 2).map((item) => ({ ...item, text: item.text.padEnd(80) }))
    await pushOneByOne(queues, queue, padded)
    await tidy(queues, queue)
    await popItems(queues, queue, { count: 6 })
    const { lock } = await lockItems(queues, queue, { count: 60, ttlSeconds: 90, competing: true })
    const state = await stage.engine().inspect(queue, { consistent: true, oldest: true })
    expect(state).toMatchObject({
      queue,
      count: 60,
      lockedCount: 60,
      deadCount: 0,
      oldestPushedAtMs: startMs,
      locks: [{ count: 60, expiresAtMs: lock.expiresAtMs, priorities: [2, 7] }],
      configuration: { revision: 1, segmentSize: 5, bufferSegments: 1, maxDeliveries: 9 },
    })
    expect(state.lanes).toMatchObject([
      { priority: 2, count: 57, headSegment: 1, tailSegment: 12 },
      { priority: 7, count: 3, headSegment: 0, tailSegment: 0 },
    ])
    expect(state.lanes[0]?.headOffloadedSegment).toBeGreaterThanOrEqual(2)
    expect(state.lanes[0]?.tailOffloadedSegment).toBeGreaterThan(4)
    expect(state.lanes[1]).not.toHaveProperty('headOffloadedSegment')
  })
})

describe('A list of queues', () => {
  const names = Array.from({ length: 45 }, (_, index) => `list-${String(index).padStart(2, '0')}`)

  it('goes through all of them by name, over every shard, with their counts.', async () => {
    const queues = stage.engine()
    await Promise.all(names.map((name, index) => push(queues, name, named('a', 1 + (index % 3)))))
    await queues.configure('list-empty', { bufferSegments: 2 })
    await push(queues, 'List-00', named('a', 1))
    const found: { queue: string; count?: number }[] = []
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const request = { prefix: 'list-', limit: 10, ...(cursor !== undefined && { cursor }) }
      const page = await stage.engine().list(request)
      found.push(...page.queues)
      sizes.push(page.queues.length)
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(found).toEqual([
      ...names.map((queue, index) => ({ queue, count: 1 + (index % 3) })),
      { queue: 'list-empty', count: 0 },
    ])
    expect(sizes).toEqual([10, 10, 10, 10, 6])
    const exactly = await queues.list({ prefix: 'list-1', limit: 10 })
    expect(exactly.queues.map(({ queue }) => queue)).toEqual(names.slice(10, 20))
    expect(exactly.cursor).toBeUndefined()
    expect(await queues.list({ prefix: 'nothing-here' })).toEqual({ queues: [] })
  })

  it('gets past a queue whose record the store does not give, if that is alone on its page.', async () => {
    const throttling = openSimulated({ throttlesRead: ({ pk }) => pk === recordKey('list-b').pk })
    const queues = throttling.engine()
    for (const name of ['list-a', 'list-b', 'list-c']) await push(queues, name, named('a', 1))
    const { cursor } = await queues.list({ prefix: 'list-', limit: 1 })
    if (cursor === undefined) throw new Error('There are three')
    const page = await queues.list({ prefix: 'list-', limit: 1, cursor })
    expect(page).toMatchObject({ queues: [{ queue: 'list-b' }], cursor: expect.any(String) })
    expect(page.queues[0]).not.toHaveProperty('count')
    const after = { prefix: 'list-', limit: 1, cursor: page.cursor as string }
    expect(await queues.list(after)).toEqual({ queues: [{ queue: 'list-c', count: 1 }] })
    // Who asks for it by name learns why.
    await expectCode(queues.list({ ids: ['list-b'] }), 'STORE_UNAVAILABLE')
  })

  it('forgets a queue with its record.', async () => {
    const [queues, queue] = [stage.engine(), `gone-${stage.queue()}`]
    await push(queues, queue, named('a', 1))
    await drain(queues, queue)
    stage.clock.pass(11 * 60_000)
    for (let run = 0; run < 3; run += 1) await queues.returnExpiredLocks()
    expect(await queues.list({ prefix: 'gone-' })).toEqual({ queues: [] })
  })

  it('refuses what it cannot use.', async () => {
    const queues = stage.engine()
    for (const request of [
      { limit: 0 },
      { limit: 101 },
      { prefix: 'a/b' },
      { prefix: 'x'.repeat(112) },
      { cursor: '' },
      { cursor: Buffer.from('a/b').toString('base64url') },
    ]) {
      await expectCode(queues.list(request), 'INVALID_PARAMETER')
    }
  })
})
