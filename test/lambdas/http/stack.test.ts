import type { Context } from 'aws-lambda'
import { describe, expect, it, vi } from 'vitest'
import type { Queues } from '../../../engine/queues.ts'
import type { Answer } from '../../../lambdas/http/answer.ts'
import type { HttpEvent } from '../../../lambdas/http/stack.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { QueueError } from '../../../shared/errors.ts'
import { anEvent } from './an-event.ts'
import { handlersOn } from './service.ts'

/** A service whose engine does as told. */
function service(queues: Partial<Queues> = {}) {
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'PushPop', write: (line) => lines.push(line) })
  return { handlers: handlersOn(queues as Queues, log), lines }
}

const pushEvent = (overrides: Partial<HttpEvent> = {}): HttpEvent =>
  anEvent('POST /queue/{id}/push', { id: 'orders' }, { body: '{"item":"a secret"}', ...overrides })

const bodyOf = (answer: Answer) => JSON.parse(answer.body)
const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64')

describe('An answer that is our fault', () => {
  it('says nothing of what happened, and the log says all of it but the payload.', async () => {
    const error = Object.assign(new Error('arn:aws:dynamodb:eu:1:table/t refused'), {
      name: 'AccessDeniedException',
      Item: { text: 'a secret' },
    })
    const { handlers, lines } = service({ push: () => Promise.reject(error) })
    const answer = await handlers.Push(pushEvent(), {})
    expect(answer.statusCode).toBe(500)
    expect(bodyOf(answer)).toEqual({
      success: false,
      error_code: 'INTERNAL',
      message: 'Something failed on our side; the request id tells us more',
      retryable: false,
      request_id: 'gateway-id',
    })
    const [failed, request] = lines.map((line) => JSON.parse(line))
    expect(failed).toMatchObject({
      level: 'error',
      message: 'request failed',
      request_id: 'gateway-id',
      error: { name: 'AccessDeniedException', stack: expect.stringContaining('stack.test.ts') },
    })
    expect(request).toMatchObject({
      level: 'error',
      status: 500,
      error_code: 'INTERNAL',
      Errors5xx: 1,
    })
    expect(lines.join('')).not.toContain('a secret')
  })

  it('is the same for what is thrown that is no error.', async () => {
    const { handlers } = service({ push: () => Promise.reject('just text') })
    expect(bodyOf(await handlers.Push(pushEvent(), {})).error_code).toBe('INTERNAL')
  })

  it.each([
    ['BUSY', 503],
    ['STORE_UNAVAILABLE', 503],
    ['SEGMENT_UNAVAILABLE', 503],
  ] as const)('%s is %d, to be tried again.', async (code, status) => {
    const cause = new Error('socket hang up')
    const error = new QueueError(code, 'Try again', { cause })
    const { handlers, lines } = service({ push: () => Promise.reject(error) })
    const answer = await handlers.Push(pushEvent(), {})
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['retry-after']).toBe('1')
    expect(bodyOf(answer)).toMatchObject({ error_code: code, retryable: true })
    expect(bodyOf(answer)).not.toHaveProperty('outcome')
    expect(lines[0]).toContain('socket hang up')
    expect(answer.body).not.toContain('socket')
  })

  it('says so if a push may have been stored.', async () => {
    const error = new QueueError('STORE_UNAVAILABLE', 'Cannot tell', { outcome: 'unknown' })
    const { handlers } = service({ push: () => Promise.reject(error) })
    expect(bodyOf(await handlers.Push(pushEvent(), {}))).toMatchObject({
      outcome: 'unknown',
      hint: expect.stringContaining('Idempotency-Key'),
    })
  })
})

describe('A request that takes too long', () => {
  const never = () => new Promise<never>(() => {})

  /** With 20 ms to go until the time to answer all the same. */
  async function late(name: 'Push' | 'Inspect', event: HttpEvent) {
    const { handlers } = service({ push: never, inspect: never })
    const context: Partial<Context> = { getRemainingTimeInMillis: () => 1_020 }
    return handlers[name](event, context)
  }

  it('is answered before the function and the gateway end: its outcome is unknown.', async () => {
    const answer = await late('Push', pushEvent())
    expect(answer.statusCode).toBe(503)
    expect(bodyOf(answer)).toMatchObject({
      error_code: 'STORE_UNAVAILABLE',
      retryable: true,
      outcome: 'unknown',
    })
  })

  it('has no outcome that matters if it only looks.', async () => {
    const event = pushEvent({ routeKey: 'GET /queue/{id}' })
    delete event.body
    const answer = await late('Inspect', event)
    expect(answer.statusCode).toBe(503)
    expect(bodyOf(answer)).not.toHaveProperty('outcome')
  })
})

describe('A body in base64', () => {
  const push = vi.fn(async (_queue: string, _request: unknown) => ({ ids: ['x'] }))
  const { handlers } = service({ push })
  const send = (body: string) => handlers.Push(pushEvent({ body, isBase64Encoded: true }), {})

  it('is decoded.', async () => {
    expect((await send(base64('{"item":"é🎈"}'))).statusCode).toBe(200)
    expect(push).toHaveBeenLastCalledWith('orders', { items: [{ text: '"é🎈"' }] })
  })

  it.each([
    ['that is not UTF-8', base64(Buffer.from('{"item":"\xe9"}', 'latin1'))],
    ['with half a character at its end', base64(Buffer.from('{"item":"é"}').subarray(0, 10))],
    ['with a surrogate as bytes', base64(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))],
    ['with a byte order mark', base64('\ufeff{"item":1}')],
    ['that is no base64', '{"item":1}'],
  ])('%s is refused.', async (_, body) => {
    expect(bodyOf(await send(body)).error_code).toBe('INVALID_JSON')
  })

  it.each([
    [2.5 * 1024 * 1024, 200],
    [2.5 * 1024 * 1024 + 1, 413],
    [4 * 1024 * 1024, 413],
  ])('of %d bytes is %d.', async (bytes, status) => {
    const body = base64(`{"item":1}${' '.repeat(bytes - 10)}`)
    expect((await send(body)).statusCode).toBe(status)
  })
})

describe('An event', () => {
  it('of payload format 1.0 is our fault, and the log says what to do.', async () => {
    const { handlers, lines } = service()
    const old = { version: '1.0', resource: '/queue/{id}/push', httpMethod: 'POST', body: '{}' }
    const answer = await handlers.Push(old as unknown as HttpEvent, { awsRequestId: 'lambda-id' })
    expect(bodyOf(answer)).toMatchObject({ error_code: 'INTERNAL', request_id: 'lambda-id' })
    expect(lines[0]).toContain('payload format version 2.0')
  })

  it.each([
    ['of nothing', {}],
    ['with a body that is nothing', { ...pushEvent(), body: null }],
    ['with nothing else', { version: '2.0' }],
    ['of another function', pushEvent({ routeKey: 'POST /queue/{id}/pop' })],
  ])('%s has an answer of ours.', async (_, event) => {
    const { handlers } = service()
    const answer = await handlers.Push(event as unknown as HttpEvent, {})
    expect(bodyOf(answer)).toMatchObject({ success: false, request_id: expect.any(String) })
  })

  it('whose body has half a character, which has no UTF-8, is refused before the engine sees it.', async () => {
    const push = vi.fn()
    const { handlers } = service({ push })
    const answer = await handlers.Push(pushEvent({ body: '{"item":"\ud800"}' }), {})
    expect(bodyOf(answer).error_code).toBe('INVALID_JSON')
    expect(push).not.toHaveBeenCalled()
  })

  it('behind a stage name is known by its path.', async () => {
    const { handlers } = service()
    const event = pushEvent({
      routeKey: '$default',
      rawPath: '/prod/queue/orders/push',
      requestContext: { requestId: 'x', stage: 'prod' } as NonNullable<HttpEvent['requestContext']>,
    })
    const answer = await handlers.Health(event, {})
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
  })

  it('that is a preflight succeeds, whatever it asks for.', async () => {
    const { handlers } = service()
    const event = pushEvent({ routeKey: 'OPTIONS /{proxy+}', rawQueryString: 'count=5' })
    delete event.body
    expect((await handlers.Health(event, {})).statusCode).toBe(204)
  })
})

describe('A pop', () => {
  const popEvent = anEvent('POST /queue/{id}/pop', { id: 'orders' }, { rawQueryString: '' })

  it.each([
    ['is not', 50, undefined, undefined],
    ['that took 5 s is', 5_000, undefined, 1],
    ['that took 5 s because it was to wait is not', 5_000, 4_900, undefined],
    ['that was to wait, and took 5 s all the same, is', 5_000, 0, 1],
  ])('%s told as slow.', async (_, tookMs, waitedMs, slow) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const pop = async () => {
        vi.advanceTimersByTime(tookMs)
        return { kind: 'empty', ...(waitedMs !== undefined && { waitedMs }) } as const
      }
      const { handlers, lines } = service({ pop })
      expect((await handlers.Pop(popEvent, {})).statusCode).toBe(200)
      const line = JSON.parse(lines[0] ?? '')
      expect(line.SlowPops).toBe(slow)
      expect(Number.isInteger(line._aws?.Timestamp ?? 0)).toBe(true)
      if (slow === undefined) expect(lines[0]).not.toContain('_aws')
    } finally {
      vi.useRealTimers()
    }
  })
})
