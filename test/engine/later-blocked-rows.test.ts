import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { bulky, named, push, pushOneByOne, pushWide } from './traffic.ts'

// More items for later that can have no lane than the record may keep: their rows wait, and what is due behind does.

type Stage = ReturnType<typeof openSimulated>

const LANES = 1_000
const MORE = 10
const ITEMS = 2 * LANES + MORE

const alone = (n: number): PushItem => ({
  text: bulky(`alone${n}`, 200),
  delaySeconds: 50 + n,
  priority: 5_000 + n,
})

/** Rows that wait for lanes, and an item with a lane behind them; all is due, and the sweeper has been there. */
async function blocked(): Promise<{ stage: Stage; queue: string; ids: readonly string[] }> {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  const ids = await pushOneByOne(
    queues,
    queue,
    Array.from({ length: 60 }, (_, n) => alone(n)),
  )
  const behind = Array.from({ length: 14 }, () => ({ text: bulky('b', 100), delaySeconds: 120 }))
  await pushOneByOne(queues, queue, behind)
  const lanes = Array.from({ length: LANES }, (_, priority) => ({ text: '0', priority }))
  await pushWide(queues, queue, lanes)
  await pushWide(queues, queue, lanes)
  // No pop empties a lane.
  await push(queues, queue, named('more', MORE))
  stage.clock.pass(200_000)
  await stage.engine().returnExpiredLocks()
  expect(await queues.inspect(queue)).toMatchObject({ count: ITEMS, scheduledCount: 74 })
  return { stage, queue, ids }
}

/** An engine, and how often it has read rows of what is scheduled. */
function counting(stage: Stage) {
  const counted = { looks: 0 }
  const queues = stage.engine({
    before({ name, input }) {
      if (name === 'QueryCommand' && JSON.stringify(input).includes('"t#')) counted.looks += 1
    },
  })
  return { queues, counted }
}

describe('While rows for later wait for a lane', () => {
  it('a process looks at them once in a minute, however often it pops or waits for an item.', async () => {
    const { stage, queue } = await blocked()
    const { queues, counted } = counting(stage)
    const all = { count: 100, requireAck: true, competing: true, ttlSeconds: 3_600 }
    await queues.pop(queue, { count: MORE })
    for (let pops = 0; pops < 20; pops += 1) await queues.pop(queue, all)
    await push(queues, queue, [{ text: '1', delaySeconds: 20, priority: 1 }])
    stage.clock.pass(30_000)
    expect(await queues.pop(queue, { ...all, waitSeconds: 5 })).toMatchObject({ kind: 'empty' })
    expect(counted.looks).toBe(1)
    stage.clock.pass(30_000)
    await queues.pop(queue, { competing: true })
    expect(counted.looks).toBe(2)
  })

  it('no pop sets a timer for what is due behind them.', async () => {
    const { stage, queue } = await blocked()
    await push(stage.engine(), queue, [{ text: '1', delaySeconds: 70, priority: 1 }])
    stage.clock.pass(61_000)
    const nowMs = stage.clock.nowMs()
    expect((await stage.record(queue)).checkAtMs).toBeLessThan(nowMs)
    await stage.engine().pop(queue, { requireAck: true, competing: true, ttlSeconds: 3_600 })
    // Its lock is a timer as well, so a consumer may wait for it.
    expect((await stage.record(queue)).checkAtMs).toBe(nowMs + 60_000 - 1)
  })

  it('the sweeper comes once a minute, and keeps nobody awake.', async () => {
    const { stage, queue } = await blocked()
    await push(stage.engine(), queue, [{ text: '1', delaySeconds: 70, priority: 1 }])
    stage.clock.pass(61_000)
    await stage.engine().returnExpiredLocks()
    expect((await stage.record(queue)).checkAtMs).toBe(stage.clock.nowMs() + 60_000 - 0.5)
  })

  it('a process that has looked joins what is behind as soon as they are cancelled.', async () => {
    const { stage, queue, ids } = await blocked()
    const { queues } = counting(stage)
    await queues.pop(queue)
    await stage.engine().cancel(queue, ids)
    // By its memory, and then by what this one has seen.
    await queues.pop(queue)
    await queues.pop(queue)
    expect(await queues.inspect(queue)).toMatchObject({ count: ITEMS - 3 + 14 })
  })

  it('a process that has looked joins them as soon as a lane is empty.', async () => {
    const { stage, queue } = await blocked()
    const { queues } = counting(stage)
    await queues.pop(queue)
    await stage.engine().purge(queue, { priority: 2 })
    await queues.pop(queue)
    expect((await queues.inspect(queue)).scheduledCount).toBeLessThan(74)
  })

  it('a process that has looked looks again as soon as others have made a lane.', async () => {
    const { stage, queue } = await blocked()
    const { queues, counted } = counting(stage)
    await queues.pop(queue)
    expect(counted.looks).toBe(1)
    await stage.engine().purge(queue, { priority: 2 })
    await push(stage.engine(), queue, [{ text: '1', priority: 5_000 }])
    await queues.pop(queue)
    expect((await queues.inspect(queue)).scheduledCount).toBeLessThan(74)
  })
})
