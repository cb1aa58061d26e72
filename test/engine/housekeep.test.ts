import { describe, expect, it } from 'vitest'
import { patiently } from '../../engine/core/record.ts'
import type { Queues } from '../../engine/queues.ts'
import { checkRecount } from './ledger.ts'
import { useEmbedded } from './stage.ts'
import {
  bulky,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

const stage = useEmbedded()

const laneOf = async (queue: string, priority = 0) => {
  const lane = (await stage.record(queue)).lanes.get(priority)
  if (lane === undefined) throw new Error(`Queue "${queue}" has no lane ${priority}`)
  return lane
}

/** Segments that have rows, with the sort keys of those. */
async function segments(queue: string): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>()
  for (const { pk, sk } of await stage.rows(queue, 's')) {
    const segment = Number((pk as string).split('#').at(-1))
    found.set(segment, [...(found.get(segment) ?? []), sk as string].sort())
  }
  return found
}

const objectNumbers = async (queue: string): Promise<number[]> =>
  (await stage.objects(queue))
    .filter((key) => !key.includes('/batch/'))
    .map((key) => Number(key.split('/').at(-1)))
    .sort((a, b) => a - b)

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

const small = async (
  items: number,
  segmentSize = 5,
): Promise<{ queues: Queues; queue: string }> => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { segmentSize })
  await pushOneByOne(queues, queue, named('a', items))
  return { queues, queue }
}

describe('Sealing', () => {
  it('leaves a short queue alone: one row holds everything.', async () => {
    const { queues, queue } = await small(20)
    expect(await queues.housekeep(queue)).toMatchObject({ sealed: 0, finished: true })
    expect((await segments(queue)).size).toBe(0)
    expect((await laneOf(queue)).tail).toHaveLength(20)
  })

  it('copies the tail to chunk rows that never cross a segment’s end, and takes it off the record.', async () => {
    const { queue } = await small(100)
    const lane = await laneOf(queue)
    expect(lane.sealed).toBeGreaterThan(50)
    const rows = await segments(queue)
    const covered = [...rows].flatMap(([segment, keys]) =>
      keys.flatMap((key) => {
        const [from, to] = key.split('-').map(Number) as [number, number]
        expect(Math.floor(from / 5)).toBe(segment)
        expect(Math.floor((to - 1) / 5)).toBe(segment)
        return range(from, to)
      }),
    )
    expect([...new Set(covered)].sort((a, b) => a - b)).toEqual(range(0, lane.sealed))
    expect(lane.sealed + lane.tail.length).toBe(100)
    checkRecount(await stage.record(queue))
  })

  it('is made good by housekeeping if the append that had to do it died.', async () => {
    const queue = stage.queue()
    const dies = stage.engine({
      before: ({ name, input }) => {
        const { pk } = (input.Item ?? {}) as { pk?: string }
        if (name === 'BatchWriteCommand' || pk?.startsWith('s#')) throw new Error('died')
      },
    })
    await pushOneByOne(dies, queue, named('a', 100))
    expect((await segments(queue)).size).toBe(0)
    expect((await stage.engine().housekeep(queue)).sealed).toBe(100)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('a', 100)))
  })
})

/** Bulk pushes into two batches in rows and one in S3, and single pushes behind them that sealed these. */
async function bulkAndSingles(): Promise<string> {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { segmentSize: 10 })
  await push(queues, queue, named('a', 200))
  const large = named('b', 100).map(({ text }) => ({ text: bulky(text.slice(1, -1), 500) }))
  await push(queues, queue, large)
  await pushOneByOne(queues, queue, named('c', 120))
  expect(await stage.rows(queue, 'b')).toHaveLength(2)
  expect(await batchObjects(queue)).toHaveLength(1)
  return queue
}

const batchObjects = async (queue: string): Promise<string[]> =>
  (await stage.objects(queue)).filter((key) => key.includes('/batch/'))

describe('Offloading', () => {
  it('moves full segments in the middle to S3, and deletes their rows.', async () => {
    const { queues, queue } = await small(200)
    const report = await queues.housekeep(queue)
    const lane = await laneOf(queue)
    expect(lane.offloaded.from).toBe(2)
    expect(lane.offloaded.to).toBeGreaterThanOrEqual(Math.floor(lane.sealed / 5) - 1)
    expect(lane.offloaded.to).toBeLessThanOrEqual(Math.floor(lane.sealed / 5))
    expect(report).toMatchObject({ offloaded: lane.offloaded.to - 2, recalled: 0, trimmed: 0 })
    expect(await objectNumbers(queue)).toEqual(range(2, lane.offloaded.to))
    const rows = await segments(queue)
    expect([...rows.keys()].filter((n) => n >= 2 && n < lane.offloaded.to)).toEqual([])
    expect(rows.has(0) && rows.has(1)).toBe(true)
  })

  it('waits until two segments qualify.', async () => {
    const { queues, queue } = await small(100, 40)
    await tidy(queues, queue)
    expect(await stage.objects(queue)).toEqual([])
  })

  it('leaves items where the bulk push that brought them put them, and batches go once settled.', async () => {
    const queue = await bulkAndSingles()
    const queues = stage.engine()
    await tidy(queues, queue)
    expect(await batchObjects(queue)).toHaveLength(1)
    expect(await stage.rows(queue, 'b')).toHaveLength(2)
    // Behind 200 items in rows of batches, and 100 in a batch in S3.
    expect((await laneOf(queue)).offloaded.from).toBe(30)
    await popItems(queues, queue, { count: 100 })
    await tidy(queues, queue)
    expect(await stage.rows(queue, 'b')).toHaveLength(1)
    await popItems(queues, queue, { count: 100 })
    await popItems(queues, queue, { count: 99 })
    await tidy(queues, queue)
    expect(await stage.rows(queue, 'b')).toEqual([])
    expect(await batchObjects(queue)).toHaveLength(1)
    await popItems(queues, queue)
    await tidy(queues, queue)
    expect(await batchObjects(queue)).toEqual([])
    expect(await drain(queues, queue)).toHaveLength(120)
    await tidy(queues, queue)
    expect([await stage.objects(queue), await stage.rows(queue, 's')]).toEqual([[], []])
  })

  it('takes a batch with it of which the record does not say where it lies, once all of it is in S3 or gone.', async () => {
    const queue = await bulkAndSingles()
    const queues = stage.engine()
    await stage.forgetRuns(queue)
    await tidy(queues, queue)
    expect(await batchObjects(queue)).toEqual([])
    expect(await stage.rows(queue, 'b')).toHaveLength(1)
    expect(await drain(queues, queue)).toHaveLength(420)
    await tidy(queues, queue)
    expect(await stage.rows(queue, 'b')).toEqual([])
  })

  it('is read again by the process that offloaded it, whatever it remembers.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 10 })
    const items = Array.from({ length: 600 }, (_, n) => ({ text: bulky(`n${n}`, 4_000) }))
    for (let from = 0; from < 600; from += 300) {
      await push(queues, queue, items.slice(from, from + 300))
    }
    await pushOneByOne(queues, queue, named('s', 70))
    await stage.forgetRuns(queue)
    await tidy(queues, queue)
    const popped: string[] = []
    for (let pop = 0; pop < 12; pop += 1) {
      popped.push(...textsOf((await popItems(queues, queue, { count: 50 })).items))
      await tidy(queues, queue)
    }
    expect(popped).toEqual(textsOf(items))
  })
})

describe('Recalling and trimming', () => {
  it('follow the head: copies come back under keys of their own, and all of it goes behind it.', async () => {
    const { queues, queue } = await small(200)
    await tidy(queues, queue)
    const { offloaded } = await laneOf(queue)
    expect((await popItems(queues, queue, { count: 7 })).items).toHaveLength(7)
    expect(await queues.housekeep(queue)).toMatchObject({ recalled: 1, trimmed: 1 })
    let rows = await segments(queue)
    expect(rows.has(0)).toBe(false)
    expect(rows.get(2)).toEqual(['r000000000010-000000000015'])
    // The object is there as long as the segment: a recall only copies.
    expect(await objectNumbers(queue)).toContain(2)

    await popItems(queues, queue, { count: 53 })
    await tidy(queues, queue)
    const lane = await laneOf(queue)
    expect(lane).toMatchObject({ trimmed: 12, recalled: 14, offloaded: { to: offloaded.to } })
    rows = await segments(queue)
    expect(Math.min(...rows.keys())).toBe(12)
    expect(Math.min(...(await objectNumbers(queue)))).toBe(12)

    expect(await drain(stage.engine(), queue)).toHaveLength(140)
    await tidy(queues, queue)
    expect(await stage.objects(queue)).toEqual([])
  })

  it('leave nothing of lanes that are dropped, and 32 empty ones are kept for another use.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    for (let lane = 0; lane < 45; lane += 1) {
      await pushOneByOne(queues, queue, named('a', 2, lane))
    }
    await push(queues, queue, named('b', 300, 50))
    await drain(queues, queue)
    await tidy(queues, queue)
    const { lanes } = await stage.record(queue)
    expect(lanes.size).toBeGreaterThan(0)
    expect(lanes.size).toBeLessThanOrEqual(32)
    const epochs = [...lanes.values()].map(({ epoch }) => epoch)
    for (const { pk } of await stage.rows(queue, 's')) {
      expect(epochs).toContain((pk as string).split('#')[2])
    }
  })

  it('keep what a lock holds.', async () => {
    const { queues, queue } = await small(120)
    await tidy(queues, queue)
    const held = await lockItems(queues, queue, { count: 3 })
    await popItems(queues, queue, { count: 60, competing: true })
    await tidy(queues, queue)
    expect((await laneOf(queue)).trimmed).toBe(0)
    await queues.acknowledge(queue, { lockId: held.lock.id })
    await queues.pop(queue, { acknowledge: held.lock.id })
    await tidy(queues, queue)
    expect((await laneOf(queue)).trimmed).toBe(12)
  })
})

describe('A run', () => {
  it('that is repeated, or of nothing, changes nothing.', async () => {
    const { queues, queue } = await small(120)
    await tidy(queues, queue)
    const before = await stage.stored(queue)
    const idle = { sealed: 0, offloaded: 0, recalled: 0, trimmed: 0, deadLettered: 0 }
    expect(await queues.housekeep(queue)).toMatchObject({ ...idle, finished: true })
    expect(await stage.stored(queue)).toEqual(before)
    expect(await queues.housekeep(stage.queue())).toMatchObject({ ...idle, finished: true })
  })

  it('that S3 refuses leaves a timer, reports what failed, and loses nothing.', async () => {
    const { queue } = await small(120)
    const refused = Object.assign(new Error('no'), { $metadata: { httpStatusCode: 403 } })
    const queues = stage.engine({
      before: ({ service }) => {
        if (service === 's3') throw refused
      },
    })
    stage.background.length = 0
    expect(await queues.housekeep(queue)).toMatchObject({ finished: false, offloaded: 0 })
    expect(stage.background).toMatchObject([{ error: refused, step: 'housekeep' }])
    const { checkAtMs } = await stage.record(queue)
    expect(checkAtMs).toBe(patiently(stage.clock.nowMs() + 60_000))
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
    expect((await laneOf(queue)).offloaded.to).toBeGreaterThan(10)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('a', 120)))
  })

  it('finds work marked on the record by the write that left it, and takes the mark away.', async () => {
    const { queues, queue } = await small(120)
    const isMarked = async () => (await stage.stored(queue))?.work !== undefined
    expect(await isMarked()).toBe(true)
    await tidy(queues, queue)
    expect(await isMarked()).toBe(false)
    await popItems(queues, queue, { count: 7 })
    expect(await isMarked()).toBe(true)
    await tidy(queues, queue)
    const claim = await lockItems(queues, queue, { count: 6, competing: true })
    expect(claim.items).toHaveLength(6)
    expect(await isMarked()).toBe(true)
  })
})
