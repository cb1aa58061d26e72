import { describe, expect, it } from 'vitest'
import type { PushRequest } from '../../../engine/queues.ts'
import { prefersAsync, pushEndpoints } from '../../../lambdas/http/push.ts'
import { httpHandler } from '../../../lambdas/http/stack.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { json } from './call.ts'
import { documented } from './documented.ts'
import { type Handlers, handlerCall } from './handler-call.ts'

function aService({ hasInbox = true } = {}) {
  const sent: (PushRequest & { queue: string })[] = []
  const pushed: string[] = []
  const queues = {
    async push(queue: string, { items }: PushRequest) {
      pushed.push(queue)
      return { ids: items.map((_, index) => `id-${index}`) }
    },
  }
  const inbox = {
    async send(queue: string, request: PushRequest) {
      sent.push({ queue, ...request })
      return { messageId: 'message-1' }
    },
  }
  const lines: Record<string, unknown>[] = []
  const log = createLog({
    level: 'info',
    service: 'PushPop',
    write: (line) => {
      lines.push(JSON.parse(line))
    },
  })
  const Push = httpHandler('Push', log, pushEndpoints(queues, hasInbox ? inbox : undefined))
  const call = documented(handlerCall({ Push } as unknown as Handlers))
  const push = (body: string, headers: Record<string, string> = { Prefer: 'respond-async' }) =>
    call('POST', '/queue/orders/push', { body, headers })
  return { push, sent, pushed, lines }
}

describe('Prefer: respond-async', () => {
  it('answers 202 once the inbox has the push, and does not touch the queue.', async () => {
    const { push, sent, pushed, lines } = aService()
    const answer = await push('{"items":[{"item":{"a":1.0}},{"item":2,"priority":1}]}')
    expect(answer.status).toBe(202)
    expect(json(answer)).toEqual({ success: true, accepted: 2, message_id: 'message-1' })
    expect(answer.headers['preference-applied']).toBe('respond-async')
    const items = [{ text: '{"a":1.0}' }, { text: '2', priority: 1 }]
    expect(sent).toEqual([{ queue: 'orders', items }])
    expect(pushed).toEqual([])
    expect(lines[0]).toMatchObject({ status: 202, InboxAccepted: 2, dynamodb_requests: 0 })
  })

  it('hands on the key.', async () => {
    const { push, sent } = aService()
    await push('{"item":1}', { Prefer: 'respond-async', 'Idempotency-Key': 'k' })
    expect(sent[0]?.idempotencyKey).toBe('k')
  })

  it.each([
    ['{"items":[]}', {}, 400, 'INVALID_ITEM'],
    ['{"item":1,"priority":-1}', {}, 400, 'INVALID_PRIORITY'],
    [`{"item":"${'x'.repeat(256 * 1024)}"}`, {}, 413, 'ITEM_TOO_LARGE'],
    ['{"item":1}', { 'Idempotency-Key': 'é' }, 400, 'INVALID_PARAMETER'],
  ])(
    'checks %.30s as a push is checked, before it is sent.',
    async (body, headers, status, code) => {
      const { push, sent } = aService()
      const answer = await push(body, { Prefer: 'respond-async', ...headers })
      expect([answer.status, json(answer).error_code]).toEqual([status, code])
      expect(sent).toEqual([])
    },
  )

  it('is ignored by a service without an inbox: a push is a push.', async () => {
    const { push, pushed } = aService({ hasInbox: false })
    const answer = await push('{"item":1}')
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('preference-applied')
    expect(pushed).toEqual(['orders'])
  })

  it('is a choice: without it a push is a push.', async () => {
    const { push, pushed, sent } = aService()
    expect((await push('{"item":1}', {})).status).toBe(200)
    expect([pushed, sent]).toEqual([['orders'], []])
  })

  it.each([
    ['respond-async', true],
    ['Respond-Async', true],
    ['wait=10, respond-async', true],
    ['respond-async; foo="a,b"', true],
    ['respond-async=""', true],
    ['return=minimal', false],
    ['foo="respond-async"', false],
    ['foo="x, respond-async"', false],
    ['not-respond-async', false],
    ['', false],
    [undefined, false],
  ])('is read as RFC 7240 says: %s.', (header, isAsked) => {
    expect(prefersAsync(header)).toBe(isAsked)
  })
})
