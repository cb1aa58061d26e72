import { describe, expect, test } from 'vitest'
import {
  type ErrorCode,
  isLockLost,
  isOutcomeUnknown,
  isPushPopError,
  isQueueLocked,
  PushPopError,
} from '../../client/index.ts'
import { ms } from '../../client/views.ts'
import { errorTable } from '../../lambdas/http/answer.ts'
import { answers, clientOf, pops, type Reply, refuses, succeeds } from './scripted.ts'

const once = (...replies: Reply[]) => clientOf(replies, { retry: { attemptsMax: 1 } })

const failureOf = async (call: Promise<unknown>): Promise<PushPopError> => {
  const error = await call.then(
    () => undefined,
    (it: unknown) => it,
  )
  expect(error).toBeInstanceOf(PushPopError)
  return error as PushPopError
}

describe('an error of the service', () => {
  test.each(Object.entries(errorTable))('is typed: %s', async (code, { status }) => {
    const { queue } = once(refuses(status, code))
    const error = await failureOf(queue.push(1))
    expect(error).toMatchObject({ code, status, requestId: 'r1', name: 'PushPopError' })
    expect(isPushPopError(error, code as ErrorCode)).toBe(true)
    expect(isPushPopError(error, 'TIMEOUT')).toBe(false)
  })

  test('has all that the service says', async () => {
    const { queue } = once(
      refuses(413, 'ITEM_TOO_LARGE', { field: 'item', limit_bytes: 262144, hint: 'Less' }),
    )
    expect(await failureOf(queue.push(1))).toMatchObject({
      message: 'It is ITEM_TOO_LARGE',
      field: 'item',
      limitBytes: 262144,
      hint: 'Less',
      retryable: false,
      outcome: undefined,
    })
  })

  test('has a guard for each thing that one does about it', async () => {
    const of = (status: number, code: string, more = {}) =>
      failureOf(once(refuses(status, code, more)).queue.pop())
    expect(isLockLost(await of(410, 'LOCK_EXPIRED'))).toBe(true)
    expect(isLockLost(await of(404, 'LOCK_NOT_FOUND'))).toBe(true)
    expect(isLockLost(await of(404, 'NOT_FOUND'))).toBe(false)
    expect(isQueueLocked(await of(423, 'QUEUE_LOCKED', { lock_expires_at: 2.5 }))).toBe(true)
    expect(isOutcomeUnknown(await of(503, 'BUSY'))).toBe(false)
    expect(isOutcomeUnknown(await of(503, 'BUSY', { outcome: 'unknown' }))).toBe(true)
    expect(isPushPopError(new Error('BUSY'))).toBe(false)
  })
})

describe('an answer from elsewhere', () => {
  const cases: [string, number, string, ErrorCode][] = [
    ['no signature', 401, '{"message":"Unauthorized"}', 'UNAUTHORIZED'],
    ['no rights', 403, '{"message":"Forbidden"}', 'FORBIDDEN'],
    ['no route', 404, '{"message":"Not Found"}', 'NOT_FOUND'],
    ['throttled', 429, '{"message":"Too Many Requests"}', 'RATE_LIMITED'],
    ['too large', 413, '{"message":"Request Entity Too Large"}', 'BODY_TOO_LARGE'],
    ['another server', 418, 'teapot', 'UNEXPECTED_ANSWER'],
    ['a list', 200, '"ok"', 'UNEXPECTED_ANSWER'],
  ]
  test.each(cases)('is typed by its status: %s', async (_, status, body, code) => {
    const { queue } = once(answers(status, body, { 'apigw-requestid': 'g1' }))
    const error = await failureOf(queue.push(1))
    expect(error).toMatchObject({ code, status })
    expect(error.message).not.toContain('teapot')
    expect(error.hint).toBe(/"message":"(.*)"/.exec(body)?.[1])
  })
})

describe('a request', () => {
  test('is what the contract says', async () => {
    const { queue, asked } = once(succeeds)
    await queue.push({ a: 1 }, { priority: 5 })
    await queue.pop({
      count: 2,
      requireAck: true,
      ttlSeconds: 9,
      competing: true,
      acknowledge: 'L',
    })
    await queue.peek()
    expect(asked.map(({ method, url, body }) => [method, url.pathname + url.search, body])).toEqual(
      [
        ['POST', '/stage/queue/q/push', '{"item":{"a":1},"priority":5}'],
        [
          'POST',
          '/stage/queue/q/pop?count=2&require_ack=true&ttl_seconds=9&allow_competing_consumers=true&acknowledge=L',
          undefined,
        ],
        ['GET', '/stage/queue/q/items', undefined],
      ],
    )
    expect(asked[0]?.headers.get('content-type')).toBe('application/json')
  })

  test('carries the token of the moment', async () => {
    let n = 0
    const token = async () => `t${++n}`
    const auth = { kind: 'token', token } as const
    const { client, asked } = clientOf([succeeds], { url: 'https://s', auth })
    await client.health()
    await client.health()
    expect(asked.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer t1',
      'Bearer t2',
    ])
  })

  test('whose token cannot be had is not sent', async () => {
    const token = () => Promise.reject(new Error('no session'))
    const auth = { kind: 'token', token } as const
    const { client, asked } = clientOf([succeeds], { url: 'https://s', auth })
    const error = await failureOf(client.health())
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', outcome: undefined })
    expect(error.message).toBe('Cannot get the token: no session')
    expect(asked).toHaveLength(0)
  })

  test('for any other id gets to the service as it is', async () => {
    const { client, asked } = once(succeeds)
    await client.queue('a/b?c#d').inspect()
    expect(asked[0]?.url.pathname).toBe('/stage/queue/a%2Fb%3Fc%23d')
  })
})

test('times are whole milliseconds', async () => {
  expect(ms(1.001)).toBe(1001)
  const lock = { locked: true, lock_id: 'L', lock_expires_at: 1709139275.123, ttl_seconds: 30 }
  const popped = await once(pops('1', lock)).queue.pop({ requireAck: true })
  expect(popped).toEqual({
    items: [
      { value: 1, text: '1', id: 'i1', priority: 0, pushedAtMs: 1709139275123, deliveries: 1 },
    ],
    lock: { id: 'L', expiresAtMs: 1709139275123, ttlSeconds: 30 },
    more: false,
  })
})

describe('what cannot be meant', () => {
  const { client } = clientOf([answers(200, {})])

  test.each([undefined, null, '', '.', '..', 5, {}])('is no queue: %j', (id) => {
    expect(() => client.queue(id as string)).toThrow(PushPopError)
    expect(() => client.queue(id as string)).toThrow(/A queue id must be .*, and this one is/)
  })

  test.each([undefined, null, '', 5])('is no key of a rate limit: %j', (key) => {
    expect(() => client.rate(key as string)).toThrow(/A rate limit's key must be/)
  })

  const cycle: Record<string, unknown> = {}
  cycle.cycle = cycle

  test.each([
    [Number.NaN, 'it is NaN'],
    [Number.POSITIVE_INFINITY, 'it is Infinity'],
    [{ total: Number.NaN }, 'it has, at total, NaN'],
    [[1, undefined], 'it has, at [1], undefined'],
    [[() => 1], 'it has, at [0], function'],
    [undefined, 'it is undefined'],
    [() => 1, 'it is a function that JSON cannot say'],
    [{ a: { b: [1, Number.NaN] } }, 'it has, at a.b[1], NaN, which JSON would turn into null'],
    [{ '': { 'b c': [[Number.NaN]] } }, 'it has, at [""]["b c"][0][0], NaN'],
    [{ at: { toJSON: () => ({ ms: Number.NaN }) } }, 'it has, at at.ms, NaN'],
    [{ n: 1n }, 'it has, at n, a bigint that JSON cannot say'],
    [{ a: [null, { n: 1n }] }, 'it has, at a[1].n, a bigint that JSON cannot say'],
    [1n, 'it is a bigint that JSON cannot say'],
    [cycle, 'it is an object that JSON cannot say'],
  ])('is no item: %o', async (item, why) => {
    const { queue, asked } = once(answers(200, { success: true, items_pushed: 1, ids: ['a'] }))
    const error = await failureOf(queue.push(item))
    expect(error).toMatchObject({ code: 'NOT_JSON', field: 'item' })
    expect(error.message).toContain(why)
    expect(asked).toEqual([])
  })

  test.each([
    [{ a: undefined, b: null }, '{"b":null}'],
    [[null, 'null'], '[null,"null"]'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])('is not what JSON can say: %o', async (item, text) => {
    const { queue, asked } = once(answers(200, { success: true, items_pushed: 1, ids: ['a'] }))
    await queue.push(item)
    expect(asked[0]?.body).toBe(`{"item":${text}}`)
  })
})

describe('without a connection', () => {
  const failing = (cause: object) => (): never => {
    throw Object.assign(new TypeError('fetch failed'), { cause })
  }

  test.each([
    ['was refused', { code: 'ECONNREFUSED' }, undefined],
    ['has no such name', { code: 'ENOTFOUND' }, undefined],
    [
      'none of its addresses took',
      {
        errors: [
          { code: 'ETIMEDOUT', syscall: 'connect' },
          { code: 'ENETUNREACH', syscall: 'connect' },
        ],
      },
      undefined,
    ],
    ['was lost on its way back', { code: 'EHOSTUNREACH', syscall: 'read' }, 'unknown'],
    ['was lost on its way there', { code: 'ENETUNREACH', syscall: 'write' }, 'unknown'],
    ['broke', { code: 'ECONNRESET' }, 'unknown'],
    [
      'one of its addresses broke',
      { errors: [{ code: 'ECONNREFUSED' }, { code: 'ECONNRESET' }] },
      'unknown',
    ],
    ['nobody knows', {}, 'unknown'],
  ])('a push whose connection %s', async (_, cause, outcome) => {
    const { queue } = once(failing(cause))
    const error = await failureOf(queue.push(1))
    expect(error).toMatchObject({ code: 'NETWORK_ERROR', retryable: true })
    expect(error.outcome).toBe(outcome)
  })

  test('a push says that nothing was sent, unless an earlier attempt was', async () => {
    const { queue: never } = clientOf([failing({ code: 'ECONNREFUSED' })], {
      retry: { attemptsMax: 2 },
    })
    expect(await failureOf(never.push(1))).toMatchObject({
      message: 'Cannot connect to http://service; nothing was sent',
      outcome: undefined,
      attempts: 2,
    })
    const replies = [failing({ code: 'ECONNRESET' }), failing({ code: 'ECONNREFUSED' })]
    const { queue } = clientOf(replies, { retry: { attemptsMax: 3 } })
    expect(await failureOf(queue.push(1, { idempotencyKey: 'k' }))).toMatchObject({
      message:
        'Cannot connect to http://service; an earlier attempt had no answer, so nobody knows whether it was carried out',
      outcome: 'unknown',
      attempts: 3,
    })
  })

  test('a push does not take the word of a refusal for the attempt that was lost before it', async () => {
    const busy = refuses(503, 'BUSY', { message: 'The queue is busy; nothing was changed' })
    const { queue } = clientOf([failing({ code: 'ECONNRESET' }), busy], {
      retry: { attemptsMax: 2 },
    })
    const error = await failureOf(queue.push(1, { idempotencyKey: 'k' }))
    expect(error.outcome).toBe('unknown')
    expect(error.message).toMatch(/nothing was changed; an earlier attempt had no answer/)
  })

  test('a push is sent again, because nothing was sent', async () => {
    const replies = [
      failing({ code: 'ECONNREFUSED' }),
      answers(200, { success: true, items_pushed: 1, ids: ['a'] }),
    ]
    const { queue, asked } = clientOf(replies, { retry: { attemptsMax: 2 } })
    await queue.push(1)
    expect(asked).toHaveLength(2)
  })
})
