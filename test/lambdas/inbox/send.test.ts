import { describe, expect, it } from 'vitest'
import {
  inboxOn,
  MESSAGE_BYTES_MAX,
  type Message,
  type SendPort,
} from '../../../lambdas/inbox/send.ts'
import { seeded } from '../../../testing/random.ts'
import { throttled, timedOut, unsent } from '../../engine/wire.ts'

function anInbox(...failures: Error[]) {
  const sent: Message[] = []
  const port: SendPort = {
    async send(message) {
      sent.push(message)
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      return { messageId: `id-${sent.length}` }
    },
  }
  const clock = { nowMs: () => 0, sleep: async () => {} }
  return { sent, inbox: inboxOn(port, { clock, random: seeded(1) }) }
}
const items = [{ text: '{"a":1.0}' }, { text: '2', priority: 3 }]
const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error as { code: string; outcome?: string; message: string },
  )

describe('A push that is sent to the inbox', () => {
  it('is a message in the group of its queue, whose body is that of a push.', async () => {
    const { inbox, sent } = anInbox()
    expect(await inbox.send('orders', { items })).toEqual({ messageId: 'id-1' })
    expect(sent[0]?.queue).toBe('orders')
    expect(sent[0]?.body).toBe('{"items":[{"item":{"a":1.0}},{"item":2,"priority":3}]}')
  })

  it('keeps what its items say of their expiry as it was said.', async () => {
    const { inbox, sent } = anInbox()
    const expiring = [
      { text: '1', expiresInSeconds: 60 },
      { text: '2', priority: 3, expiresAtMs: 1_500 },
    ]
    await inbox.send('orders', { items: expiring })
    expect(sent[0]?.body).toBe(
      '{"items":[{"item":1,"expires_in_seconds":60},{"item":2,"priority":3,"expires_at":1.5}]}',
    )
  })

  it('is another message each time, unless it has a key.', async () => {
    const { inbox, sent } = anInbox()
    for (let call = 1; call <= 2; call += 1) await inbox.send('orders', { items })
    for (const idempotencyKey of ['k', 'k', 'l']) {
      await inbox.send('orders', { items, idempotencyKey })
    }
    const ids = sent.map(({ deduplicationId }) => deduplicationId)
    expect(new Set(ids).size).toBe(4)
    expect(ids[2]).toBe(ids[3])
    for (const id of ids) expect(id).toMatch(/^[!-~]{1,128}$/)
  })

  it('arrives as another message under a used key with other items: or nobody would hear of the mistake.', async () => {
    const { inbox, sent } = anInbox()
    await inbox.send('orders', { items, idempotencyKey: 'k' })
    await inbox.send('orders', { items: [{ text: '9' }], idempotencyKey: 'k' })
    expect(sent[0]?.deduplicationId).not.toBe(sent[1]?.deduplicationId)
  })

  it('is sent again after a lost answer, under the id that makes it one message.', async () => {
    const { inbox, sent } = anInbox(timedOut(), throttled())
    await inbox.send('orders', { items })
    expect(sent).toHaveLength(3)
    expect(new Set(sent.map(({ deduplicationId }) => deduplicationId)).size).toBe(1)
  })

  it.each([
    ['is not known', [timedOut(), timedOut(), timedOut()], 'unknown'],
    ['is not known once one answer was lost', [timedOut(), throttled(), throttled()], 'unknown'],
    ['is that nothing happened', [throttled(), unsent(), throttled()], undefined],
  ])('fails after three attempts, and its outcome %s.', async (_, failures, outcome) => {
    const { inbox } = anInbox(...failures)
    const error = await errorOf(inbox.send('orders', { items }))
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(error?.outcome).toBe(outcome)
  })

  it('is refused before it is sent if it is larger than SQS takes.', async () => {
    const { inbox, sent } = anInbox()
    const text = (bytes: number) => [{ text: `"${'x'.repeat(bytes - 2)}"` }]
    const most = MESSAGE_BYTES_MAX - 256 - '{"items":[{"item":}]}'.length
    await inbox.send('orders', { items: text(most) })
    const error = await errorOf(inbox.send('orders', { items: text(most + 1) }))
    expect(error).toMatchObject({ code: 'BODY_TOO_LARGE', details: { limitBytes: 1_048_320 } })
    expect(sent).toHaveLength(1)
  })

  const FIVE_YEARS_MS = 157_766_400_000
  const far = FIVE_YEARS_MS + 1

  it.each([
    ['deliver_at', { text: '1', deliverAtMs: far }],
    ['expires_at', { text: '1', expiresAtMs: far }],
  ])('is refused where %s is too far away, with a key and without.', async (field, item) => {
    const { inbox, sent } = anInbox()
    for (const idempotencyKey of [undefined, 'k']) {
      const error = await errorOf(inbox.send('orders', { items: [item], idempotencyKey }))
      expect(error).toMatchObject({ code: 'INVALID_PARAMETER', field })
    }
    expect(sent).toEqual([])
  })

  it('is refused if it expires before it is due, unless its key may have come in time.', async () => {
    const { inbox, sent } = anInbox()
    const over = [{ text: '1', delaySeconds: 60, expiresAtMs: 59_000 }]
    expect(await errorOf(inbox.send('orders', { items: over }))).toMatchObject({
      code: 'INVALID_PARAMETER',
      field: 'expires_at',
    })
    expect(sent).toEqual([])
    await inbox.send('orders', { items: over, idempotencyKey: 'k' })
    expect(sent).toHaveLength(1)
  })

  it('is refused if it names more times than one push may.', async () => {
    const { inbox, sent } = anInbox()
    const timed = Array.from({ length: 65 }, (_, n) => ({ text: '1', delaySeconds: n + 1 }))
    expect(await errorOf(inbox.send('orders', { items: timed }))).toMatchObject({
      code: 'INVALID_PARAMETER',
      field: 'items',
    })
    await inbox.send('orders', { items: timed.slice(1) })
    expect(sent).toHaveLength(1)
  })

  it('is not sent again by a process that was frozen until SQS had forgotten its id.', async () => {
    const sent: Message[] = []
    const port: SendPort = {
      async send(message) {
        sent.push(message)
        throw timedOut()
      },
    }
    let nowMs = 0
    const clock = {
      nowMs: () => nowMs,
      sleep: async () => {
        nowMs += 300_000
      },
    }
    const error = await errorOf(inboxOn(port, { clock }).send('orders', { items }))
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(sent).toHaveLength(1)
  })

  it('is refused where SQS does not take its characters.', async () => {
    const { inbox, sent } = anInbox()
    const error = await errorOf(inbox.send('orders', { items: [{ text: '"\uffff"' }] }))
    expect(error).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringContaining('U+FFFF'),
      field: 'item',
    })
    const items = [{ text: '1' }, { text: '"\ufffe"' }]
    expect(await errorOf(inbox.send('orders', { items }))).toMatchObject({ field: 'items[1]' })
    expect(sent).toHaveLength(0)
  })
})
