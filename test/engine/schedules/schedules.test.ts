import { afterEach, describe, expect, it } from 'vitest'
import { shardOf } from '../../../engine/core/keys.ts'
import { SCHEDULES_MAX } from '../../../engine/core/limits.ts'
import { useEmbedded } from '../stage.ts'
import { bulky, drain, expectCode, lockItems, named, popItems, push, textsOf } from '../traffic.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

describe('A schedule', () => {
  const stage = useEmbedded()
  let queue = ''

  // The tests share their shards, and a sweep runs all that is due in one.
  afterEach(async () => {
    const queues = stage.engine()
    for (const { name } of await queues.schedules(queue)) await queues.deleteSchedule(queue, name)
  })

  /** An engine and a queue of its own, at the full hour. */
  function scene() {
    const { clock } = stage
    clock.pass(HOUR_MS - (clock.nowMs() % HOUR_MS))
    queue = stage.queue()
    return {
      queue,
      clock,
      queues: stage.engine(),
      sweep: () => stage.engine().returnExpiredLocks({ shards: [shardOf(queue)] }),
    }
  }

  const every = (seconds: number, text = '{"report": 1.0}') => ({ everySeconds: seconds, text })

  it('pushes its item, byte for byte, each time that it is due, and never before.', async () => {
    const { queue, queues, clock, sweep } = scene()
    const text = '{"a":1.50, "b" : [ ] }'
    const put = await queues.putSchedule(queue, 'report', {
      cron: '*/10 * * * *',
      text,
      priority: 3,
    })
    expect(put).toMatchObject({ nextMs: clock.nowMs() + 10 * MINUTE_MS, missed: 'one', text })
    clock.pass(10 * MINUTE_MS - 1)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0, failed: [] })
    clock.pass(1)
    const dueMs = clock.nowMs()
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1, failed: [], more: false })
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0 })
    const [item, ...others] = await drain(queues, queue)
    expect(item).toMatchObject({ text, priority: 3, pushedAtMs: dueMs })
    expect(others).toEqual([])
    expect(await queues.schedule(queue, 'report')).toMatchObject({
      lastMs: dueMs,
      nextMs: dueMs + 10 * MINUTE_MS,
      tag: put.tag,
    })
  })

  it('pushes all that came due between two sweeps in one transaction, in order.', async () => {
    const { queue, queues, clock } = scene()
    await queues.putSchedule(queue, 'often', every(10))
    clock.pass(MINUTE_MS)
    const sweeper = stage.engine()
    const sent = await sweeper.wire.during(() =>
      sweeper.returnExpiredLocks({ shards: [shardOf(queue)] }),
    )
    expect(sent.filter((name) => name === 'TransactWriteCommand')).toHaveLength(1)
    expect(await drain(queues, queue)).toHaveLength(6)
  })

  it('pushes a large item by reference, and as large as an item may be.', async () => {
    const { queue, queues, clock, sweep } = scene()
    const text = bulky('large', 200 * 1024)
    await queues.putSchedule(queue, 'large', every(10, text))
    clock.pass(MINUTE_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 6, failed: [] })
    expect(await stage.recordBytes(queue)).toBeLessThan(2_000)
    expect(textsOf(await drain(queues, queue))).toEqual(Array(6).fill(text))
  })

  it('waits while the queue is full, says so, and loses nothing, not even with skip.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    await queues.putSchedule(queue, 'hourly', { ...every(3_600), missed: 'skip' })
    clock.pass(HOUR_MS)
    const dueMs = clock.nowMs()
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0, failed: [] })
    expect(await queues.schedule(queue, 'hourly')).toMatchObject({
      nextMs: dueMs,
      // Patient: nobody hurries to it.
      retryAtMs: dueMs + MINUTE_MS - 0.5,
    })
    clock.pass(MINUTE_MS)
    await sweep()
    await popItems(queues, queue)
    clock.pass(20 * MINUTE_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
    const after = await queues.schedule(queue, 'hourly')
    expect(after).toMatchObject({ lastMs: dueMs, nextMs: dueMs + HOUR_MS })
    expect(after.retryAtMs).toBeUndefined()
    expect(textsOf(await drain(queues, queue))).toEqual(['{"report": 1.0}'])
  })

  it('pushes as many as there is room for, and the rest later.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.configure(queue, { capacity: 2 })
    await queues.putSchedule(queue, 'often', every(20))
    clock.pass(MINUTE_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 2 })
    expect(await drain(queues, queue)).toHaveLength(2)
    clock.pass(MINUTE_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 2 })
    await drain(queues, queue)
    clock.pass(MINUTE_MS)
    await sweep()
    await drain(queues, queue)
  })

  it('finds room that acknowledged items have left.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { lock } = await lockItems(queues, queue, { competing: true })
    await queues.acknowledge(queue, { lockId: lock.id })
    await queues.putSchedule(queue, 'hourly', every(3_600))
    clock.pass(HOUR_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
  })

  it('finds room in a queue that it remembers as full, and another process has emptied.', async () => {
    const { queue, queues, clock } = scene()
    await queues.configure(queue, { capacity: 1 })
    await queues.putSchedule(queue, 'often', every(10))
    const sweeper = stage.engine()
    await push(sweeper, queue, named('a', 1))
    await popItems(stage.engine(), queue)
    clock.pass(10_000)
    const report = await sweeper.returnExpiredLocks({ shards: [shardOf(queue)] })
    expect(report).toMatchObject({ occurrencesPushed: 1 })
  })

  it('is not counted under the push limit, nor is a run by hand.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.configure(queue, { pushLimit: { maxRequests: 1, windowMillis: 60_000 } })
    await push(queues, queue, named('a', 1))
    await queues.putSchedule(queue, 'often', every(10))
    clock.pass(20_000)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 2, failed: [] })
    await queues.runSchedule(queue, 'often')
    expect(await drain(queues, queue)).toHaveLength(4)
  })

  it('makes the queue anew that was forgotten, and a lane that was dropped.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.putSchedule(queue, 'daily', { ...every(86_400), priority: 7 })
    clock.pass(DAY_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
    await drain(queues, queue)
    clock.pass(HOUR_MS)
    await sweep()
    expect(await stage.stored(queue)).toBeUndefined()
    clock.pass(23 * HOUR_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
    expect(await drain(queues, queue)).toHaveLength(1)
  })

  it('keeps its times when it is put again, and starts anew with others.', async () => {
    const { queue, queues, clock, sweep } = scene()
    const first = await queues.putSchedule(queue, 'often', every(60))
    clock.pass(90_000)
    const same = await queues.putSchedule(queue, 'often', every(60))
    expect(same).toEqual(first)
    const other = await queues.putSchedule(queue, 'often', every(60, '"other"'))
    expect(other).toMatchObject({ nextMs: first.nextMs, text: '"other"' })
    expect(other.tag).not.toBe(first.tag)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
    expect(textsOf(await drain(queues, queue))).toEqual(['"other"'])
    const slower = await queues.putSchedule(queue, 'often', every(600))
    expect(slower.nextMs).toBe(clock.nowMs() + 600_000)
  })

  it('starts and ends at the given times, and then has no next time.', async () => {
    const { queue, queues, clock, sweep } = scene()
    const startsAtMs = clock.nowMs() + 5 * MINUTE_MS
    const bounds = { startsAtMs, endsAtMs: startsAtMs + MINUTE_MS }
    expect(await queues.putSchedule(queue, 'twice', { ...every(60), ...bounds })).toMatchObject({
      nextMs: startsAtMs,
    })
    clock.pass(10 * MINUTE_MS)
    await sweep()
    const { nextMs, lastMs } = await queues.schedule(queue, 'twice')
    expect({ nextMs, lastMs }).toEqual({ nextMs: undefined, lastMs: bounds.endsAtMs })
    expect(await drain(queues, queue)).toHaveLength(1)
    clock.pass(DAY_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0 })
  })

  it('pushes nothing while it is paused; what was missed goes by its rule.', async () => {
    const { queue, queues, clock, sweep } = scene()
    for (const missed of ['skip', 'one', 'all'] as const) {
      await queues.putSchedule(queue, missed, { ...every(3_600, `"${missed}"`), missed })
      await queues.pauseSchedule(queue, missed)
    }
    clock.pass(3 * HOUR_MS + 30 * MINUTE_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0 })
    for (const missed of ['skip', 'one', 'all'] as const) await queues.resumeSchedule(queue, missed)
    const next = clock.nowMs() + 30 * MINUTE_MS
    expect(await queues.schedule(queue, 'skip')).toMatchObject({ nextMs: next })
    expect(await sweep()).toMatchObject({ occurrencesPushed: 4 })
    expect(textsOf(await drain(queues, queue))).toEqual(['"one"', '"all"', '"all"', '"all"'].sort())
    for (const { nextMs } of await queues.schedules(queue)) expect(nextMs).toBe(next)
  })

  it('can be paused and resumed again and again, and changes only once.', async () => {
    const { queue, queues } = scene()
    const { tag } = await queues.putSchedule(queue, 'often', every(60))
    expect((await queues.resumeSchedule(queue, 'often')).tag).toBe(tag)
    const paused = await queues.pauseSchedule(queue, 'often')
    expect(paused).toMatchObject({ paused: true })
    expect(await queues.pauseSchedule(queue, 'often')).toEqual(paused)
    expect(await queues.putSchedule(queue, 'often', every(30))).toMatchObject({ paused: true })
  })

  it('runs at once when a caller asks for it, paused or not, and keeps its times.', async () => {
    const { queue, queues } = scene()
    await queues.putSchedule(queue, 'often', { ...every(60), priority: 4 })
    const paused = await queues.pauseSchedule(queue, 'often')
    const { ids } = await queues.runSchedule(queue, 'often')
    expect(await drain(queues, queue)).toMatchObject([{ id: ids[0], priority: 4 }])
    expect(await queues.schedule(queue, 'often')).toMatchObject(paused)
  })

  it('is replaced and deleted under a star, and not made.', async () => {
    const { queue, queues } = scene()
    const any = { ifMatch: '*' }
    await expectCode(queues.putSchedule(queue, 'often', every(60), any), 'VERSION_MISMATCH')
    await expectCode(queues.deleteSchedule(queue, 'often', any), 'VERSION_MISMATCH')
    expect(await queues.schedules(queue)).toEqual([])
    await queues.putSchedule(queue, 'often', every(60))
    await queues.putSchedule(queue, 'often', every(30), any)
    expect(await queues.deleteSchedule(queue, 'often', any)).toBe(true)
  })

  it('is changed and deleted only by a caller that has seen its newest state.', async () => {
    const { queue, queues, clock, sweep } = scene()
    const { tag } = await queues.putSchedule(queue, 'often', every(60))
    const ifMatch = tag
    await queues.putSchedule(queue, 'often', every(30), { ifMatch })
    await expectCode(queues.putSchedule(queue, 'often', every(20), { ifMatch }), 'VERSION_MISMATCH')
    await expectCode(queues.deleteSchedule(queue, 'often', { ifMatch }), 'VERSION_MISMATCH')
    await expectCode(queues.putSchedule(queue, 'new', every(20), { ifMatch }), 'VERSION_MISMATCH')
    expect(await queues.deleteSchedule(queue, 'often')).toBe(true)
    expect(await queues.deleteSchedule(queue, 'often')).toBe(false)
    await expectCode(queues.schedule(queue, 'often'), 'SCHEDULE_NOT_FOUND')
    await expectCode(queues.runSchedule(queue, 'often'), 'SCHEDULE_NOT_FOUND')
    await expectCode(queues.pauseSchedule(queue, 'often'), 'SCHEDULE_NOT_FOUND')
    clock.pass(HOUR_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 0 })
    const left = (await stage.store.rows()).filter(({ pk }) => (pk as string).endsWith(`#${queue}`))
    expect(left).toEqual([])
  })

  it('stays when its queue is purged.', async () => {
    const { queue, queues, clock, sweep } = scene()
    await queues.putSchedule(queue, 'hourly', every(3_600))
    await queues.purge(queue)
    clock.pass(HOUR_MS)
    expect(await sweep()).toMatchObject({ occurrencesPushed: 1 })
  })

  it('is one of at most a hundred of its queue, which are listed by name.', async () => {
    const { queue, queues } = scene()
    const names = Array.from({ length: SCHEDULES_MAX }, (_, n) => `s${String(n).padStart(3, '0')}`)
    for (const name of names) await queues.putSchedule(queue, name, every(3_600))
    await expectCode(queues.putSchedule(queue, 'more', every(3_600)), 'TOO_MANY_SCHEDULES')
    await queues.putSchedule(queue, 's000', every(60))
    expect((await queues.schedules(queue)).map(({ name }) => name)).toEqual(names)
    expect((await queues.list({ prefix: queue })).queues).toEqual([])
  })

  it.each([
    ['every_seconds', { everySeconds: 9 }],
    ['every_seconds', { everySeconds: 10.5 }],
    ['every_seconds', { everySeconds: 60, cron: '0 9 * * 1' }],
    ['cron', {}],
    ['cron', { cron: '0 9 * *' }],
    ['cron', { cron: '0 0 30 2 *' }],
    ['time_zone', { everySeconds: 60, timeZone: 'Europe/Berlin' }],
    ['time_zone', { cron: '0 9 * * 1', timeZone: 'Mars/Olympus' }],
    ['starts_at', { everySeconds: 60, startsAtMs: 1_500 }],
    ['starts_at', { everySeconds: 60, startsAtMs: 9e15 }],
    ['starts_at', { cron: '0 9 * * *', startsAtMs: 1e300 }],
    ['ends_at', { everySeconds: 60, endsAtMs: 253_402_300_800_000 }],
    ['cron', { cron: '* * * * 1#' }],
    ['cron', { cron: '0 0 32 * *' }],
    ['ends_at', { everySeconds: 60, startsAtMs: 10_000, endsAtMs: 9_000 }],
    ['ends_at', { everySeconds: 60, endsAtMs: 9_000 }],
    ['missed', { everySeconds: 60, missed: 'some' as 'one' }],
    ['priority', { everySeconds: 60, priority: -1 }],
    ['item', { everySeconds: 60, text: '{' }],
  ])('is refused with the name of what is wrong (%s in %j).', async (field, input) => {
    const { queue, queues } = scene()
    const put = queues.putSchedule(queue, 'wrong', { text: '1', ...input })
    await expect(put).rejects.toMatchObject({ field })
    expect(await queues.schedules(queue)).toEqual([])
  })

  it.each(['', '.', '..', 'a b', 'a/b', 'x'.repeat(101)])(
    'has a name that an address can hold, and not "%s".',
    async (name) => {
      const { queue, queues } = scene()
      const put = queues.putSchedule(queue, name, every(60))
      await expect(put).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field: 'name' })
    },
  )
})
