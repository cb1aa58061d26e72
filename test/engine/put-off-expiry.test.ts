import { describe, expect, it } from 'vitest'
import type { MoveRequest, Queues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import { drain, lockItems, push, textsOf, tidy } from './traffic.ts'

// What a queue's time for its items, and a dead-letter queue's, mean to those that are put off.

const HOUR_MS = 3_600_000

/** The new ids of items that can all be moved. */
async function moved(queues: Queues, queue: string, request: MoveRequest): Promise<string[]> {
  const results = await queues.move(queue, request)
  return results.map((one) => (one.result === 'moved' && one.newId) || one.result)
}

/** Three items, of which the first two expire by the time of their queue. */
async function expiring(config: Parameters<Queues['configure']>[1] = {}) {
  const { stage, queues, queue } = onSimulated()
  await queues.configure(queue, { itemTtlSeconds: 100, ...config })
  const early = await push(queues, queue, [{ text: '"a0"' }, { text: '"a1"' }])
  stage.clock.pass(99_000)
  const late = await push(queues, queue, [{ text: '"a2"' }])
  stage.clock.pass(1_000)
  return { stage, queues, queue, ids: [...early.ids, ...late.ids], nowMs: stage.clock.nowMs() }
}

describe('An item that is put off', () => {
  it.each([undefined, 'others'])(
    'stays expired if its queue’s time for it was over; for others it begins anew (to %s).',
    async (to) => {
      const { stage, queues, queue, ids, nowMs } = await expiring()
      const there = to ?? queue
      await queues.configure(there, { itemTtlSeconds: 100 })
      const [, first = ''] = await moved(queues, queue, {
        ids: ids.slice(1),
        deliverAtMs: nowMs + HOUR_MS,
        queue: to,
      })
      // Nor does it matter how often.
      expect(
        await moved(queues, there, { ids: [first], deliverAtMs: nowMs + 2 * HOUR_MS }),
      ).toHaveLength(1)
      stage.clock.pass(HOUR_MS + 99_000)
      expect(textsOf(await drain(queues, there))).toEqual([])
      stage.clock.pass(HOUR_MS)
      expect(textsOf(await drain(queues, there))).toEqual(['"a2"'])
      expect(stage.expired).toBe(to === undefined ? 2 : 1)
    },
  )

  it('stays expired in a queue whose items never expire.', async () => {
    const { stage, queues, queue, ids, nowMs } = await expiring()
    await moved(queues, queue, { ids, deliverAtMs: nowMs + HOUR_MS, queue: 'others' })
    stage.clock.pass(HOUR_MS + 1_000)
    expect(textsOf(await drain(queues, 'others'))).toEqual(['"a2"'])
  })

  it('becomes a dead letter if it had expired and its queue keeps such items.', async () => {
    const { stage, queues, queue, ids, nowMs } = await expiring({ expired: 'dead_letter' })
    await moved(queues, queue, { ids, deliverAtMs: nowMs + HOUR_MS })
    stage.clock.pass(HOUR_MS + 1_000)
    expect(textsOf(await drain(queues, queue))).toEqual(['"a2"'])
    await tidy(queues, queue)
    expect(await drain(queues, `${queue}-deadletter`)).toMatchObject([
      { text: '"a0"', reason: 'expired' },
      { text: '"a1"', reason: 'expired' },
    ])
  })
})

/** Three dead letters, which their queue keeps for ten minutes. */
async function deadLetters() {
  const { stage, queues, queue } = onSimulated()
  const dead = `${queue}-deadletter`
  await queues.configure(dead, { itemTtlSeconds: 600 })
  await push(queues, queue, [{ text: '"a0"', delaySeconds: 1 }, { text: '"a1"' }, { text: '"a2"' }])
  stage.clock.pass(2_000)
  const { lock } = await lockItems(queues, queue, { count: 3 })
  await queues.deadLetter(queue, { lockId: lock.id, reason: 'broken' })
  await tidy(queues, queue)
  const letters = (await queues.browse(dead)).items
  const ids = letters.map(({ id }) => id)
  return { stage, queues, queue, dead, letters, ids, nowMs: stage.clock.nowMs() }
}

describe('A dead letter', () => {
  it('that is put off is there when it is due, for the whole time of its queue, and tells its due time and its scheduled id.', async () => {
    const { stage, queues, dead, letters, ids, nowMs } = await deadLetters()
    const deliverAtMs = nowMs + HOUR_MS
    const newIds = await moved(queues, dead, { ids, deliverAtMs })
    const dueMs = 1_000 * Math.ceil(deliverAtMs / 1_000)
    stage.clock.pass(dueMs + 599_000 - nowMs)
    const items = await drain(queues, dead)
    expect(items).toHaveLength(3)
    for (const [index, item] of items.entries()) {
      const { reason, deadLetteredAtMs, priorDeliveries } = letters[index] ?? {}
      expect(item).toMatchObject({ reason, deadLetteredAtMs, priorDeliveries, dueMs })
      expect(item.scheduledId).toBe(newIds[index])
      expect(item.expiresAtMs).toBe(dueMs + 600_000)
    }
  })

  it('that is put off expires as long after that as its queue says.', async () => {
    const { stage, queues, dead, ids, nowMs } = await deadLetters()
    await moved(queues, dead, { ids, deliverAtMs: nowMs + HOUR_MS })
    stage.clock.pass(HOUR_MS + 602_000)
    expect(await drain(queues, dead)).toEqual([])
  })

  it('that is put off stays expired if it was.', async () => {
    const { stage, queues, dead, ids } = await deadLetters()
    stage.clock.pass(600_000)
    await moved(queues, dead, { ids, deliverAtMs: stage.clock.nowMs() + HOUR_MS })
    stage.clock.pass(HOUR_MS + 1_000)
    expect(await drain(queues, dead)).toEqual([])
  })

  it('may be put off by the move that makes it one, and again.', async () => {
    const { stage, queues, queue, dead, nowMs } = await deadLetters()
    const { ids } = await push(queues, queue, [{ text: '"b"' }])
    const deliverAtMs = nowMs + HOUR_MS
    const scheduled = await moved(queues, queue, { ids, deliverAtMs, queue: dead })
    const again = await moved(queues, dead, { ids: scheduled, deliverAtMs: nowMs + 2 * HOUR_MS })
    stage.clock.pass(2 * HOUR_MS + 590_000)
    expect(await drain(queues, dead)).toMatchObject([
      { text: '"b"', reason: 'moved', deadLetteredAtMs: nowMs, scheduledId: again[0] },
    ])
  })

  it('leaves behind when it was due in its queue.', async () => {
    const { queues, dead } = await deadLetters()
    const letters = await drain(queues, dead)
    expect(letters).toHaveLength(3)
    expect(letters.some((it) => 'dueMs' in it || 'scheduledId' in it)).toBe(false)
  })

  it('that was put off leaves its due time there when it goes back to its queue.', async () => {
    const { stage, queues, queue, dead, ids, nowMs } = await deadLetters()
    await moved(queues, dead, { ids, deliverAtMs: nowMs + HOUR_MS })
    stage.clock.pass(HOUR_MS + 1_000)
    await queues.returnExpiredLocks()
    const joined = (await queues.browse(dead)).items
    await moved(queues, dead, { ids: joined.slice(0, 1).map(({ id }) => id), queue })
    await queues.redrive(dead)
    const back = await drain(queues, queue)
    expect(back).toHaveLength(3)
    expect(back.some((it) => 'dueMs' in it || 'scheduledId' in it)).toBe(false)
  })
})
