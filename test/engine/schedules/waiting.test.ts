import { describe, expect, it } from 'vitest'
import { scheduleBody } from '../../../lambdas/http/bodies.ts'
import { onSimulated } from '../stage.ts'
import { drain, named, popItems, push, pushWide } from '../traffic.ts'

// An occurrence that cannot be pushed when it is due.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const QUEUE = 'orders'
const NAME = 'hourly'

function scene() {
  const { stage } = onSimulated()
  const queues = stage.engine()
  /** The sweeps of so many minutes, each by a process of its own. */
  const minutes = async (count: number): Promise<void> => {
    for (let minute = 0; minute < count; minute += 1) {
      stage.clock.pass(MINUTE_MS)
      await stage.engine().returnExpiredLocks()
    }
  }
  return { stage, queues, minutes }
}

describe('An occurrence that a full queue keeps waiting', () => {
  it.each(['skip', 'one', 'all'] as const)('is pushed hours later (%s).', async (missed) => {
    const { stage, queues, minutes } = scene()
    await queues.configure(QUEUE, { capacity: 1 })
    await push(queues, QUEUE, named('a', 1))
    const { nextMs } = await queues.putSchedule(QUEUE, NAME, {
      everySeconds: 3_600,
      text: '1',
      missed,
    })
    await minutes(200)
    expect(await queues.schedule(QUEUE, NAME)).toMatchObject({ nextMs })
    await popItems(queues, QUEUE)
    await minutes(1)
    expect((await queues.schedule(QUEUE, NAME)).lastMs).toBe(nextMs)
    await queues.configure(QUEUE, { capacity: 10 })
    await minutes(1)
    // Two and three hours after the first put.
    const left = { skip: 0, one: 1, all: 2 }[missed]
    expect(await drain(stage.engine(), QUEUE)).toHaveLength(1 + left)
  })

  it('finds the room that expired items take.', async () => {
    for (const expired of ['discard', 'dead_letter'] as const) {
      const { queues, minutes } = scene()
      await queues.configure(QUEUE, { capacity: 2, expired })
      await queues.push(QUEUE, {
        items: Array.from({ length: 2 }, () => ({ text: '"over"', expiresInSeconds: 60 })),
      })
      await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text: '"hourly"' })
      await minutes(60)
      const items = await drain(queues, QUEUE)
      expect(items.map(({ text }) => text)).toEqual(['"hourly"'])
    }
  })

  it('lives by the item_ttl_seconds of its queue from when it joined, not from when it was due.', async () => {
    const { stage, queues, minutes } = scene()
    await queues.configure(QUEUE, { itemTtlSeconds: 3_600 })
    await queues.putSchedule(QUEUE, NAME, { everySeconds: 86_400, text: '1' })
    stage.clock.pass(26 * HOUR_MS)
    await minutes(1)
    stage.clock.pass(HOUR_MS - 1)
    expect(await drain(queues, QUEUE)).toHaveLength(1)
  })
})

describe('An occurrence that its queue refuses', () => {
  it('waits and says why; it holds up no other and counts as no lag of locks.', async () => {
    const { stage, queues } = scene()
    const others = Array.from({ length: 1_000 }, (_, n) => ({ text: '1', priority: n }))
    await pushWide(queues, QUEUE, others)
    const { nextMs } = await queues.putSchedule(QUEUE, NAME, {
      everySeconds: 3_600,
      text: '"last"',
      priority: 5_000,
    })
    await queues.putSchedule('other', NAME, { everySeconds: 3_600, text: '1' })
    stage.clock.pass(HOUR_MS)
    const sweep = () => stage.engine().returnExpiredLocks()
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1, lagMs: 0, failed: [], more: false })
    const refused = expect.stringContaining('another priority')
    const body = scheduleBody(await queues.schedule(QUEUE, NAME))
    expect(body).toMatchObject({ waiting: 'refused', refused })
    stage.clock.pass(MINUTE_MS)
    const sweeper = stage.engine()
    const sent = await sweeper.wire.during(() => sweeper.returnExpiredLocks())
    expect(new Set(sent)).toEqual(new Set(['QueryCommand']))
    // Put with a lane that is there, it does not wait any longer.
    await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text: '"last"', priority: 7 })
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1, failed: [] })
    const after = await queues.schedule(QUEUE, NAME)
    expect(after).toMatchObject({ lastMs: nextMs })
    expect(scheduleBody(after)).not.toHaveProperty('refused')
  })
})
