import { describe, expect, it } from 'vitest'
import { isSomethingJoinable } from '../../engine/core/plan-join.ts'
import type { PushItem, Queues } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { bulky, drain, push, pushWide, textsOf } from './traffic.ts'

// Items for later whose priority can have no lane when they are due, because a thousand others have items in them.

type Stage = ReturnType<typeof openSimulated>

const LANES = 1_000

/** Items with priorities of their own, for later, and then so many lanes that none of them can have one. */
async function crowded(soon: readonly PushItem[]): Promise<{ stage: Stage; queue: string }> {
  const stage = openSimulated()
  const queue = stage.queue()
  for (const item of soon) await push(stage.engine(), queue, [item])
  await pushWide(stage.engine(), queue, lanesOf(LANES))
  return { stage, queue }
}

const lanesOf = (count: number) =>
  Array.from({ length: count }, (_, priority) => ({ text: '0', priority }))

/** The largest push for later, nearly: as many pairs of time and priority as one may have. */
const manyTimes = Array.from({ length: 64 }, (_, n) => ({
  text: bulky('', 12),
  delaySeconds: 1_000 + n,
  priority: 1,
}))

const isPatient = (atMs: number | undefined): boolean => (atMs ?? 0) % 1 === 0.5

const alone = (n: number, delaySeconds: number, bytes = 20): PushItem => ({
  text: bulky(`alone${n}`, bytes),
  delaySeconds,
  priority: 5_000 + n,
})
const fine = (delaySeconds: number): PushItem => ({ text: '"fine"', delaySeconds, priority: 1 })

const emptyLane = (queues: Queues, queue: string) => queues.purge(queue, { priority: 2 })

describe('An item for later that can have no lane', () => {
  it('stops none that has one, from the record or from rows, and joins once a lane is free.', async () => {
    const six = Array.from({ length: 6 }, (_, n) => alone(n, 50 + n, 100))
    const others = Array.from({ length: 14 }, (_, n) => ({ ...fine(52 + n), text: bulky('', 100) }))
    for (const [soon, fines] of [
      [[alone(0, 50)], [fine(90)]],
      [six, [...others, fine(90)]],
    ] as const) {
      const { stage, queue } = await crowded([...soon, ...fines])
      const scheduled = soon.length + fines.length
      expect(await stage.engine().inspect(queue)).toMatchObject({ scheduledCount: scheduled })
      stage.clock.pass(100_000)
      await stage.engine().returnExpiredLocks()
      expect(await stage.engine().inspect(queue)).toMatchObject({
        count: LANES + fines.length,
        scheduledCount: soon.length,
      })
      await emptyLane(stage.engine(), queue)
      const texts = textsOf(await drain(stage.engine(), queue))
      expect(texts).toHaveLength(LANES - 1 + scheduled)
      expect(await stage.engine().inspect(queue)).toMatchObject({ count: 0, scheduledCount: 0 })
    }
  })

  it('stays in the record while others are sealed, and can be cancelled all the same.', async () => {
    const { stage, queue } = await crowded([alone(0, 5)])
    const queues = stage.engine()
    const [waiting] = (await queues.scheduled(queue)).items
    stage.clock.pass(6_000)
    const sealed = async (one: Queues) => {
      const { seals } = (await stage.record(queue)).scheduled
      while ((await stage.record(queue)).scheduled.seals === seals) {
        await push(one, queue, [{ text: bulky('far', 900), delaySeconds: 1_000, priority: 1 }])
      }
    }
    for (let n = 0; n < 20; n += 1) await sealed(queues)
    expect((await stage.record(queue)).scheduled.entries).toHaveLength(1)
    // By this clock it does not wait for a lane: it is not due.
    await sealed(stage.engine({ clock: stage.clock.skewed(-60_000) }))
    const [result] = await queues.cancel(queue, [waiting?.id as string])
    expect(result?.result).toBe('cancelled')
  })

  it('has the sweeper come again in a minute, and keeps nobody awake.', async () => {
    const { stage, queue } = await crowded([alone(0, 50), fine(51)])
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
    const { checkAtMs, scheduled } = await stage.record(queue)
    expect(scheduled.items).toBe(1)
    expect(checkAtMs).toBe(stage.clock.nowMs() + 60_000 - 0.5)
    await emptyLane(stage.engine(), queue)
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
    expect(await stage.engine().inspect(queue)).toMatchObject({
      count: LANES + 1,
      scheduledCount: 0,
    })
  })

  it('does not put off the timer of what is due soon.', async () => {
    const { stage, queue } = await crowded([alone(0, 50), fine(100)])
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
    const { checkAtMs = 0 } = await stage.record(queue)
    expect(isPatient(checkAtMs)).toBe(false)
    stage.clock.pass(checkAtMs - stage.clock.nowMs())
    await stage.engine().returnExpiredLocks()
    expect(await stage.engine().inspect(queue)).toMatchObject({ count: LANES + 1 })
  })

  it('costs a pop nothing: it tries no join.', async () => {
    const { stage, queue } = await crowded([alone(0, 50)])
    stage.clock.pass(60_000)
    const requests: string[] = []
    const queues = stage.engine({
      before({ name, input }) {
        if (name === 'UpdateCommand' || JSON.stringify(input).includes('"t#')) requests.push(name)
      },
    })
    expect((await queues.pop(queue, { requireAck: true })).kind).toBe('items')
    expect(requests).toEqual(['UpdateCommand'])
  })

  it('is nothing to join for a pop that waits, by the record that it looks at, until a lane is empty.', async () => {
    const { stage, queue } = await crowded([alone(0, 50)])
    stage.clock.pass(60_000)
    const nowMs = stage.clock.nowMs()
    expect(isSomethingJoinable(await stage.record(queue), nowMs, false)).toBe(false)
    await emptyLane(stage.engine(), queue)
    expect(isSomethingJoinable(await stage.record(queue), nowMs, false)).toBe(true)
  })

  it('is looked after within a minute while something else is due a little later.', async () => {
    const { stage, queue } = await crowded([alone(0, 50), fine(190)])
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
    expect((await stage.record(queue)).checkAtMs).toBe(stage.clock.nowMs() + 60_000 - 1)
  })

  it('takes the last lanes with others of its second, and what is left of these does not fill the record.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const second = Array.from({ length: 60 }, (_, n) => alone(n, 50, 8))
    await push(queues, queue, second)
    await pushWide(queues, queue, lanesOf(LANES - 2))
    stage.clock.pass(100_000)
    await stage.engine().returnExpiredLocks()
    expect(await queues.inspect(queue)).toMatchObject({ count: LANES, scheduledCount: 58 })
    expect((await stage.record(queue)).scheduled.bytes).toBe(0)
    await push(stage.engine(), queue, manyTimes)
    for (let priority = 0; priority < 58; priority += 1) await queues.purge(queue, { priority })
    expect(await drain(queues, queue)).toHaveLength(LANES)
  })

  it('leaves room in the record for the largest push for later.', async () => {
    const many = Array.from({ length: 40 }, (_, n) => alone(n, 50 + n, 60))
    const { stage, queue } = await crowded(many)
    stage.clock.pass(100_000)
    await stage.engine().returnExpiredLocks()
    for (let pushes = 0; pushes < 3; pushes += 1) {
      await push(stage.engine(), queue, manyTimes)
      await stage.engine().returnExpiredLocks()
      await stage.engine().pop(queue)
    }
    expect((await stage.record(queue)).scheduled.bytes).toBeGreaterThan(1_000)
    await push(stage.engine(), queue, manyTimes)
  })

  it('stops no row that has its lanes, even where the record keeps as much as it may.', async () => {
    const { stage, queue } = await crowded(Array.from({ length: 12 }, () => fine(50)))
    const sealed = (await stage.engine().inspect(queue)).scheduledCount
    await push(stage.engine(), queue, manyTimes)
    const inRecord = Array.from({ length: 16 }, (_, n) => alone(n, 50 + n))
    for (const item of inRecord) await push(stage.engine(), queue, [item])
    const { entries, bytes } = (await stage.record(queue)).scheduled
    expect(entries).toHaveLength(16)
    expect(bytes).toBeGreaterThan(1_500)
    stage.clock.pass(100_000)
    await stage.engine().returnExpiredLocks()
    expect(await stage.engine().inspect(queue)).toMatchObject({ count: LANES + sealed })
  })

  it('comes back to the record in one write with all that others may pass by.', async () => {
    const { stage, queue } = await crowded(Array.from({ length: 12 }, (_, n) => alone(n, 50 + n)))
    await push(stage.engine(), queue, manyTimes)
    expect((await stage.record(queue)).scheduled.entries).toEqual([])
    stage.clock.pass(100_000)
    const requests: string[] = []
    const queues = stage.engine({ before: ({ name }) => requests.push(name) })
    expect((await queues.pop(queue, { requireAck: true })).kind).toBe('items')
    expect((await stage.record(queue)).scheduled.entries).toHaveLength(12)
    expect(requests.length).toBeLessThan(8)
  })

  it('waits where it is if there are very many, and what is behind it then waits, too, without haste.', async () => {
    const many = Array.from({ length: 40 }, (_, n) => alone(n, 50 + n, 200))
    const { stage, queue } = await crowded([...many, fine(95)])
    stage.clock.pass(100_000)
    await stage.engine().returnExpiredLocks()
    const { scheduled, checkAtMs } = await stage.record(queue)
    expect(scheduled.bytes).toBeLessThan(6_000)
    expect(scheduled.items).toBe(41)
    expect(checkAtMs).toBe(stage.clock.nowMs() + 60_000 - 0.5)
    await push(stage.engine(), queue, [{ text: '1', delaySeconds: 1_000, priority: 1 }])
    for (let priority = 100; priority < 200; priority += 1) {
      await stage.engine().purge(queue, { priority })
    }
    const texts = textsOf(await drain(stage.engine(), queue))
    expect(texts).toHaveLength(LANES - 100 + 41)
  })
})
