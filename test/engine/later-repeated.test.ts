import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { message } from './messages.ts'
import { openSimulated } from './stage.ts'
import { bulky, push } from './traffic.ts'

// Times that would not pass now, of a push that may have happened when they did.

const HOUR_MS = 3_600_000

/** It is over 100 s after it is due, if it is pushed now. */
const nearlyOver = (nowMs: number): PushItem => ({
  text: '1',
  delaySeconds: 3_600,
  expiresAtMs: nowMs + HOUR_MS + 100_000,
})

const refused = { code: 'INVALID_PARAMETER', field: 'expires_at' }

describe('A push with an Idempotency-Key whose times would not pass any more', () => {
  it('is answered with the first answer, by its note and by its receipt.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const request = { items: [nearlyOver(stage.clock.nowMs())], idempotencyKey: 'k' }
    const { ids } = await queues.push(queue, request)
    stage.clock.pass(200_000)
    expect(await queues.push(queue, request)).toEqual({ ids, repeated: true })
    expect(await stage.engine().push(queue, request)).toEqual({ ids, repeated: true })
    await push(queues, queue, [{ text: bulky('x', 900) }])
    await push(queues, queue, [{ text: bulky('y', 900) }])
    expect((await stage.rows(queue, 'i')).length).toBe(1)
    expect(await stage.engine().push(queue, request)).toEqual({ ids, repeated: true })
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 1 })
  })

  it('is answered with the first answer in a bulk whose seconds fall together otherwise now.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    stage.clock.pass(1_000 - (stage.clock.nowMs() % 1_000))
    const nowMs = stage.clock.nowMs()
    const items = Array.from({ length: 64 }, (_, n) => ({ text: '1', delaySeconds: 100 + n }))
    const request = {
      items: [...items, { text: '1', deliverAtMs: nowMs + 100_000 }],
      idempotencyKey: 'k',
    }
    const { ids } = await queues.push(queue, request)
    stage.clock.pass(2_000)
    expect(await queues.push(queue, request)).toEqual({ ids, repeated: true })
  })

  it('is refused as the first of its key, and leaves no queue and no note.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const request = { items: [nearlyOver(stage.clock.nowMs())], idempotencyKey: 'k' }
    stage.clock.pass(200_000)
    await expect(queues.push(queue, request)).rejects.toMatchObject(refused)
    expect(await stage.stored(queue)).toBeUndefined()
    await push(queues, queue, [{ text: '2' }])
    await expect(queues.push(queue, request)).rejects.toMatchObject(refused)
    const right = { items: [nearlyOver(stage.clock.nowMs())], idempotencyKey: 'k' }
    expect(await queues.push(queue, right)).toEqual({ ids: [expect.stringMatching(/^t-/)] })
  })

  it('is refused once the time of its key is over.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const day = 86_400
    const item = {
      text: '1',
      delaySeconds: 2 * day,
      expiresAtMs: stage.clock.nowMs() + (2 * day + 60) * 1_000,
    }
    const request = { items: [item], idempotencyKey: 'k' }
    await queues.push(queue, request)
    stage.clock.pass((day + 1) * 1_000)
    await expect(queues.push(queue, request)).rejects.toMatchObject(refused)
  })

  it('with other items is a conflict.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const item = nearlyOver(stage.clock.nowMs())
    await queues.push(queue, { items: [item], idempotencyKey: 'k' })
    stage.clock.pass(200_000)
    const other = queues.push(queue, { items: [{ ...item, text: '2' }], idempotencyKey: 'k' })
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  })
})

describe('A message of the inbox whose times would not pass any more', () => {
  const sent = (number: number, sinceMs: number, idempotencyKey?: string) =>
    message(number, {
      items: [{ text: '1', delaySeconds: 3_600, expiresInSeconds: 3_700, sinceMs }],
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    })

  it('is passed where it was applied before, and where another with its key was.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const first = sent(1, stage.clock.nowMs(), 'k')
    expect(await queues.apply(queue, [first])).toMatchObject({ pushed: 1 })
    const second = sent(2, stage.clock.nowMs(), 'k')
    stage.clock.pass(200_000)
    const applied = await stage.engine().apply(queue, [first, second])
    expect(applied).toMatchObject({ settled: 2, repeated: 2, refused: 0 })
    expect(await queues.inspect(`${queue}-deadletter`)).toMatchObject({ count: 0 })
  })

  it('that comes late for the first time goes to the dead letters, and holds up none behind it.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const sentMs = stage.clock.nowMs()
    stage.clock.pass(200_000)
    const late = [sent(1, sentMs), sent(2, stage.clock.nowMs())]
    expect(await queues.apply(queue, late)).toMatchObject({ settled: 2, pushed: 1, refused: 1 })
  })
})
