import { describe, expect, it } from 'vitest'
import { openSimulated, type Stage } from './stage.ts'
import { named, popItems, push } from './traffic.ts'
import { throttled } from './wire.ts'

// Queues whose items came while events were off have no timer: nobody would ever look after them.

const inTime = { deadlineMs: Number.POSITIVE_INFINITY }

async function silentQueues(
  count: number,
  options: Parameters<typeof openSimulated>[0] = {},
): Promise<Stage> {
  const stage = openSimulated(options)
  const silent = stage.engine({ events: false })
  for (let n = 0; n < count; n += 1) await push(silent, `queue-${n}`, named('a', 1))
  return stage
}

const withoutTimer = async (stage: Stage): Promise<number> => {
  const rows = await stage.store.rows()
  return rows.filter(({ sk, checkAt }) => sk === 'queue' && checkAt === undefined).length
}

describe('Once events are turned on', () => {
  it('every queue that waits gets a timer, and is announced when its time has come.', async () => {
    const stage = await silentQueues(5)
    await popItems(stage.engine({ events: false }), 'queue-3')
    const queues = stage.engine()
    expect(await queues.startTimers(inTime)).toEqual({
      queues: 5,
      started: 4,
      failed: 0,
      finished: true,
    })
    stage.announced.length = 0
    for (let minute = 0; minute < 12; minute += 1) {
      stage.clock.pass(60_000)
      await queues.returnExpiredLocks()
    }
    expect(new Set(stage.announced)).toEqual(
      new Set([0, 1, 2, 4].map((n) => `queue-${n}: items-available`)),
    )
  })

  it('a queue whose timer is years away gets one in time.', async () => {
    const stage = openSimulated()
    const silent = stage.engine({ events: false })
    await push(silent, 'orders', [{ text: '"later"', delaySeconds: 2 * 365 * 86_400 }])
    stage.clock.pass(11 * 60_000)
    await silent.returnExpiredLocks()
    await push(silent, 'orders', named('a', 1))
    const queues = stage.engine()
    expect(await queues.startTimers(inTime)).toMatchObject({ started: 1 })
    expect((await stage.record('orders')).checkAtMs).toBeLessThan(stage.clock.now + 3_600_000)
  })

  it('the walk through all queues is made once, however many processes ask.', async () => {
    const stage = await silentQueues(3)
    await stage.engine().startTimers(inTime)
    const { wire, ...queues } = stage.engine()
    const sent = await wire.during(async () => {
      expect(await queues.startTimers(inTime)).toEqual({
        queues: 0,
        started: 0,
        failed: 0,
        finished: true,
      })
    })
    expect(sent).toEqual(['GetCommand'])
  })

  it('a day later it is made again, for what a process without events has pushed meanwhile.', async () => {
    const stage = await silentQueues(3)
    await stage.engine().startTimers(inTime)
    await push(stage.engine({ events: false }), 'later', named('a', 1))
    stage.clock.pass(23 * 3_600_000)
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ queues: 0 })
    stage.clock.pass(3_600_000)
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ queues: 4, started: 1 })
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ queues: 0, finished: true })
    expect(await withoutTimer(stage)).toBe(0)
  })

  it('a walk that was cut off goes on where it was.', async () => {
    const stage = await silentQueues(230)
    let walked = 0
    for (let run = 1; run < 100; run += 1) {
      const deadlineMs = stage.clock.nowMs() + 10
      const queues = stage.engine({ after: () => stage.clock.pass(1) })
      const { queues: seen, finished } = await queues.startTimers({ deadlineMs })
      walked += seen
      if (finished) break
    }
    expect(walked).toBe(230)
    expect(await withoutTimer(stage)).toBe(0)
  })

  it('turned off and on again, it is made again.', async () => {
    const stage = await silentQueues(2)
    await stage.engine().startTimers(inTime)
    const silent = stage.engine({ events: false })
    await silent.startTimers(inTime)
    await push(silent, 'later', named('a', 1))
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ queues: 3, started: 1 })
  })

  it('a queue that cannot be written is passed, and the walk made again later.', async () => {
    const stage = await silentQueues(230)
    const failing = stage.engine({
      before: ({ name, input }) => {
        const { pk } = (input.Key ?? {}) as { pk?: string }
        if (name === 'UpdateCommand' && pk === 'q#queue-7') throw throttled()
      },
    })
    expect(await failing.startTimers(inTime)).toEqual({
      queues: 230,
      started: 229,
      failed: 1,
      finished: true,
    })
    const early = { queues: 0, started: 0, failed: 0, finished: true }
    expect(await stage.engine().startTimers(inTime)).toEqual(early)
    stage.clock.pass(3_600_000)
    expect(await stage.engine().startTimers(inTime)).toEqual({
      queues: 230,
      started: 1,
      failed: 0,
      finished: true,
    })
    expect(await withoutTimer(stage)).toBe(0)
  })

  it('a queue that cannot be read is passed too, and walked to ever more seldom.', async () => {
    const stage = await silentQueues(5)
    const stored = await stage.stored('queue-2')
    if (stored === undefined) throw new Error('unreachable')
    // The stage's own announcing of marked writes knows no such format either.
    const { ev: _, ...unmarked } = stored
    await stage.plant({ ...unmarked, fm: 2 })
    const walks: number[] = []
    for (let hour = 0; hour < 96; hour += 1) {
      const { queues } = await stage.engine().startTimers(inTime)
      if (queues > 0) walks.push(hour)
      stage.clock.pass(3_600_000)
    }
    // All but that one at the first walk; the others come ever more seldom, and once a day at least.
    expect(await withoutTimer(stage)).toBe(1)
    expect(walks).toEqual([0, 1, 3, 7, 15, 31, 55, 79])
  })

  it('a record that the store does not give just now does not stop the walk.', async () => {
    const hot = { pk: 'q#queue-3' }
    const stage = await silentQueues(9, { throttlesRead: ({ pk }) => pk === hot.pk })
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ started: 8, failed: 1 })
    hot.pk = ''
    stage.clock.pass(3_600_000)
    expect(await stage.engine().startTimers(inTime)).toMatchObject({ started: 1, finished: true })
  })
})
