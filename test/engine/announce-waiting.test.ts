import { describe, expect, it } from 'vitest'
import type { AnnounceReport } from '../../engine/queues.ts'
import { onSimulated, openSimulated, type Stage } from './stage.ts'
import { expectCode, lockItems, named, popItems, push } from './traffic.ts'

// For a consumer that was mended, or is new, and should not wait for the next reminder.

/** Announces page by page, as somebody does whose time is over after each. */
async function announceInSteps(stage: Stage): Promise<AnnounceReport[]> {
  const reports: AnnounceReport[] = []
  let cursor: string | undefined
  do {
    // The deadline is over after the first read.
    const deadlineMs = stage.clock.nowMs() + 1
    const queues = stage.engine({ after: () => stage.clock.pass(1) })
    const report = await queues.announceWaiting({ deadlineMs, ...(cursor && { cursor }) })
    reports.push(report)
    cursor = report.cursor
  } while (cursor !== undefined && reports.length < 100)
  return reports
}

describe('Announcing what waits', () => {
  it('tells of queues with items and nobody at work, and of no others.', async () => {
    const { stage, queues } = onSimulated()
    for (const id of ['waiting', 'waiting-too', 'locked', 'empty']) {
      await push(queues, id, named('a', 2))
    }
    await lockItems(queues, 'locked')
    await popItems(queues, 'empty', { count: 2 })
    stage.announced.length = 0
    expect(await queues.announceWaiting()).toEqual({ queues: 4, announced: 2, failed: 0 })
    expect(stage.announced.sort()).toEqual([
      'waiting-too: items-available',
      'waiting: items-available',
    ])
  })

  it('ends what has expired, and the locks of consumers if none of them is alive.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    for (const id of ['expired', 'a-callers', 'a-consumers', 'many']) {
      await push(queues, id, named('a', 50))
    }
    await lockItems(queues, 'expired', { ttlSeconds: 1 })
    stage.clock.pass(1_000)
    await lockItems(queues, 'a-callers')
    await lockItems(queues, 'a-consumers', { forConsumer: true })
    for (let n = 0; n < 50; n += 1) {
      await lockItems(queues, 'many', { forConsumer: true, competing: true })
    }
    stage.announced.length = 0
    expect(await queues.announceWaiting()).toMatchObject({ announced: 1 })
    expect(stage.announced).toContain('expired: items-available')

    stage.announced.length = 0
    expect(await queues.announceWaiting({ consumersAreGone: true })).toMatchObject({ announced: 3 })
    for (const id of ['a-consumers', 'many']) {
      expect(stage.announced).toContain(`${id}: items-available`)
      expect((await popItems(queues, id, { count: 50 })).items).toHaveLength(50)
    }
    expect(stage.announced.filter((event) => event.startsWith('a-callers'))).toEqual([])
    expect(await queues.pop('a-callers')).toMatchObject({ kind: 'locked' })
  })

  it('does so each time it is asked, and keeps to a prefix.', async () => {
    const { stage, queues } = onSimulated()
    for (const id of ['orders-1', 'orders-2', 'mails']) await push(queues, id, named('a', 1))
    for (let round = 0; round < 3; round += 1) {
      stage.clock.pass(1)
      stage.announced.length = 0
      expect(await queues.announceWaiting({ prefix: 'orders' })).toMatchObject({ announced: 2 })
      expect(stage.announced).toHaveLength(2)
    }
    await expectCode(queues.announceWaiting({ prefix: 'a b' }), 'INVALID_PARAMETER')
  })

  it('passes what the store does not give, and tells of it.', async () => {
    const stage = openSimulated({ throttlesRead: ({ pk }) => pk === 'q#queue-3' })
    for (let n = 0; n < 9; n += 1) await push(stage.engine(), `queue-${n}`, named('a', 1))
    stage.announced.length = 0
    const report = await stage.engine().announceWaiting()
    expect(report).toEqual({ queues: 9, announced: 8, failed: 1 })
    expect(stage.announced).toHaveLength(8)
  })

  it('tells what it did, and where to go on, when the store goes out of reach.', async () => {
    const shards = { down: false }
    const stage = openSimulated({
      throttlesRead: ({ index }) => index !== undefined && shards.down,
    })
    for (let n = 0; n < 60; n += 1) await push(stage.engine(), `queue-${n}`, named('a', 1))
    const breaking = stage.engine({
      after: ({ name }) => {
        if (name === 'UpdateCommand') shards.down = true
      },
    })
    const { announced, cursor, failed } = await breaking.announceWaiting()
    expect(failed).toBe(1)
    await expectCode(stage.engine().announceWaiting({ cursor: cursor ?? '' }), 'STORE_UNAVAILABLE')
    shards.down = false
    const rest = await stage.engine().announceWaiting({ cursor: cursor ?? '' })
    expect(announced + rest.announced).toBe(60)
  })

  it('goes on where it stopped when its time was over, and meets each queue once.', async () => {
    const { stage, queues } = onSimulated()
    for (let n = 0; n < 230; n += 1) await push(queues, `queue-${n}`, named('a', 1))
    stage.announced.length = 0
    const reports = await announceInSteps(stage)
    expect(reports.length).toBeGreaterThan(10)
    expect(reports.reduce((sum, { announced }) => sum + announced, 0)).toBe(230)
    expect(new Set(stage.announced).size).toBe(230)
    for (const cursor of ['16/', 'x', '1', '3/a b']) {
      await expectCode(queues.announceWaiting({ cursor }), 'INVALID_PARAMETER')
    }
  })

  it('is not held up by a queue that fails, and says so.', async () => {
    const stage = openSimulated()
    for (const id of ['a', 'b', 'c']) await push(stage.engine(), id, named('a', 1))
    const queues = stage.engine({
      before: ({ name, input }) => {
        const { pk } = (input.Key ?? {}) as { pk?: string }
        if (name === 'UpdateCommand' && pk === 'q#b') throw new Error('broken')
      },
    })
    expect(await queues.announceWaiting()).toEqual({ queues: 3, announced: 2, failed: 1 })
    expect(stage.background).toMatchObject([{ step: 'announce' }])
  })
})
