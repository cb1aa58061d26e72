import { describe, expect, it } from 'vitest'
import { onSimulated, openSimulated, type Stage } from './stage.ts'
import { bulky, lockItems, named, popItems, push, pushOneByOne, textsOf, tidy } from './traffic.ts'

// A pop reads what it hands out, and remembers what came with it.

const KB = 1024
const QUEUE = 'orders'

/**
 * Segments of 20 items of that size, the middle ones in S3, the head at the end of the second: large items
 * too, because the record does not say where they lie.
 */
async function longQueue(bytes: number): Promise<Stage> {
  const { stage } = await longUntidied(bytes)
  await stage.forgetRuns(QUEUE)
  await tidy(stage.engine(), QUEUE)
  await take(stage, 40)
  return stage
}

async function longUntidied(bytes: number) {
  const { stage, queues } = onSimulated()
  await queues.configure(QUEUE, { segmentSize: 20 })
  // What is sealed at once is more of small references.
  const length = bytes > 2 * KB ? 140 : 240
  const items = Array.from({ length }, (_, n) => ({ text: bulky(`a${n}:`, bytes) }))
  await pushOneByOne(queues, QUEUE, items)
  return { stage, queues }
}

/** Takes the next items, so many, in pops of five. */
async function take(stage: Stage, count: number): Promise<void> {
  const queues = stage.engine()
  for (let taken = 0; taken < count; ) {
    const { items } = await popItems(queues, QUEUE, { count: Math.min(5, count - taken) })
    taken += items.length
  }
}

/** What one pop of one item sends and reads; cold where the engine is new. */
async function costOfPop(stage: Stage, queues = stage.engine()) {
  const before = stage.store.readUnits?.() ?? 0
  const requests = await queues.wire.during(() => popItems(queues, QUEUE))
  return { requests, readUnits: (stage.store.readUnits?.() ?? 0) - before }
}

describe.each([1, 20, 100, 256])('A pop of one item of %i KB', (kilobytes) => {
  it('from a recalled segment reads one row, and what was in it is handed out from memory.', async () => {
    const stage = await longQueue(kilobytes * KB)
    await tidy(stage.engine(), QUEUE)
    expect((await stage.record(QUEUE)).lanes.get(0)).toMatchObject({ frontier: 40 })
    expect((await stage.record(QUEUE)).lanes.get(0)?.recalled).toBeGreaterThanOrEqual(3)
    await take(stage, 1)
    const queues = stage.engine()
    const first = await costOfPop(stage, queues)
    expect(first.requests).toEqual(['GetCommand', 'QueryCommand', 'UpdateCommand'])
    expect(first.readUnits).toBeLessThanOrEqual(60)
    if (kilobytes > 100) return
    expect((await costOfPop(stage, queues)).requests).toEqual(['UpdateCommand'])
  })

  it('from a segment in S3 is one GET, and the next ones come from memory.', async () => {
    const stage = await longQueue(kilobytes * KB)
    const lane = (await stage.record(QUEUE)).lanes.get(0)
    expect(lane?.offloaded).toMatchObject({ from: 2 })
    expect(lane?.recalled ?? 0).toBeLessThan(3)
    const queues = stage.engine()
    const first = await costOfPop(stage, queues)
    expect(first.requests).toEqual(['GetCommand', 'GetObjectCommand', 'UpdateCommand'])
    expect(first.readUnits).toBeLessThanOrEqual(2)
    for (let pop = 0; pop < 5; pop += 1) {
      expect((await costOfPop(stage, queues)).requests).toEqual(['UpdateCommand'])
    }
  })
})

it('A pop of many items from a recalled segment reads their rows in two queries, and no others.', async () => {
  const stage = await longQueue(100 * KB)
  await tidy(stage.engine(), QUEUE)
  const queues = stage.engine()
  const before = stage.store.readUnits?.() ?? 0
  const sent = await queues.wire.during(() => popItems(queues, QUEUE, { count: 12 }))
  expect(sent).toEqual(['GetCommand', 'QueryCommand', 'QueryCommand', 'UpdateCommand'])
  // Twelve items of 100 KB, less what compression takes off, in eventually consistent reads.
  const readUnits = (stage.store.readUnits?.() ?? 0) - before
  expect(readUnits).toBeLessThanOrEqual((12 * 100) / 8 + 2)
})

it('A pop of large items that were pushed alone reads them where they were born, eight at a time.', async () => {
  const { stage } = await longUntidied(100 * KB)
  await tidy(stage.engine(), QUEUE)
  const lane = (await stage.record(QUEUE)).lanes.get(0)
  expect(lane?.offloaded).toEqual({ from: 0, to: 0 })
  let [atOnce, most] = [0, 0]
  const queues = stage.engine({
    before: ({ name }) => {
      if (name === 'GetObjectCommand') most = Math.max(most, ++atOnce)
    },
    after: ({ name }) => {
      if (name === 'GetObjectCommand') atOnce -= 1
    },
  })
  const sent = await queues.wire.during(() => popItems(queues, QUEUE, { count: 20 }))
  expect(sent.filter((name) => name === 'GetObjectCommand')).toHaveLength(20)
  expect(sent.filter((name) => name === 'QueryCommand')).toHaveLength(1)
  expect(most).toBe(8)
})

describe('Items that are read in part', () => {
  it('come in order and whole, across rows, segments and places.', async () => {
    const stage = await longQueue(30 * KB)
    await tidy(stage.engine(), QUEUE)
    const queues = stage.engine()
    const texts: string[] = []
    for (const count of [1, 3, 7, 40, 9]) {
      texts.push(...textsOf((await popItems(queues, QUEUE, { count })).items))
    }
    const expected = Array.from({ length: 60 }, (_, n) => bulky(`a${40 + n}:`, 30 * KB))
    expect(texts.map((text) => text.slice(0, 8))).toEqual(expected.map((text) => text.slice(0, 8)))
    expect(texts).toEqual(expected)
  })

  it('are read again where a lock came back to them, and not where they lie in memory.', async () => {
    const stage = await longQueue(100 * KB)
    await tidy(stage.engine(), QUEUE)
    const queues = stage.engine()
    const { lock, items } = await lockItems(queues, QUEUE, { count: 8 })
    await queues.release(QUEUE, { lockId: lock.id })
    const again = await queues.wire.during(async () => {
      expect(textsOf((await lockItems(queues, QUEUE, { count: 8 })).items)).toEqual(textsOf(items))
    })
    expect(again).toEqual(['UpdateCommand'])
  })

  it('of a large push in S3 are fetched a few times, and not once for each pop.', async () => {
    const stage = openSimulated()
    const items = Array.from({ length: 40 }, (_, n) => ({ text: bulky(`a${n}:`, 60 * KB) }))
    await push(stage.engine(), QUEUE, items)
    const queues = stage.engine()
    const sent = await queues.wire.during(async () => {
      for (const { text } of items)
        expect((await popItems(queues, QUEUE)).items[0]?.text).toBe(text)
    })
    expect(sent.filter((name) => name === 'GetObjectCommand').length).toBeLessThanOrEqual(3)
  })
})

describe('An inspection', () => {
  it('is one request, however many priorities there are and wherever their items lie.', async () => {
    const { stage, queues } = onSimulated()
    for (let priority = 0; priority < 30; priority += 1) {
      await pushOneByOne(queues, QUEUE, named('a', 12, priority))
    }
    const { wire, ...cold } = stage.engine()
    const sent = await wire.during(async () => {
      const state = await cold.inspect(QUEUE)
      expect(state.count).toBe(360)
      expect(state.oldestPushedAtMs).toBeUndefined()
    })
    expect(sent).toEqual(['GetCommand'])
    const { oldestPushedAtMs } = await cold.inspect(QUEUE, { oldest: true })
    expect(oldestPushedAtMs).toBe(stage.clock.nowMs())
  })

  it('tells how old the oldest item is where the record itself does.', async () => {
    const { stage, queues } = onSimulated()
    const startMs = stage.clock.nowMs()
    await push(queues, QUEUE, named('a', 2, 5))
    stage.clock.pass(1_000)
    await push(queues, QUEUE, named('b', 2))
    const { wire, ...cold } = stage.engine()
    expect(await cold.inspect(QUEUE)).toMatchObject({ oldestPushedAtMs: startMs })
    await popItems(queues, QUEUE, { count: 3 })
    expect(await cold.inspect(QUEUE)).toMatchObject({ oldestPushedAtMs: startMs })
    await popItems(queues, QUEUE)
    expect(await cold.inspect(QUEUE)).not.toHaveProperty('oldestPushedAtMs')
  })
})
