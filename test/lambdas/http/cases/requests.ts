import { expect } from 'vitest'
import { json } from '../call.ts'
import { type Cases, expectError, expectOk, path } from './actions.ts'

export const requestCases: Cases = {
  'an error names the right address for one that is nearly right, and the methods that are allowed':
    async ({ call, id }) => {
      const near = expectError(await call('POST', `/queue/${id}/ack`), 404, 'NOT_FOUND')
      expect(near.message).toContain('/acknowledge')
      const wrongMethods = [
        ['GET', path(id, 'push'), 'POST'],
        ['DELETE', path(id), 'GET'],
        ['POST', path(id, 'config'), 'GET, PUT, DELETE'],
        ['POST', '/queues', 'GET'],
        ['PUT', '/healthz', 'GET, HEAD'],
        ['PATCH', path(id, 'pop'), 'POST'],
      ] as const
      for (const [method, at, allow] of wrongMethods) {
        const answer = await call(method, at)
        expectError(answer, 405, 'METHOD_NOT_ALLOWED')
        expect(answer.headers.allow).toBe(allow)
      }
    },
  'application/json may be spelled as HTTP allows': async ({ q }) => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/json; profile=x',
    ]) {
      const headers = { 'content-type': type }
      expectOk(await q.call('POST', 'push', { body: '{"item":1}', headers }))
    }
  },
  'an optional body may be absent, empty, or an empty object': async ({ q, call, id }) => {
    const empties = [
      {},
      { body: '', headers: { 'content-type': 'application/json' } },
      { body: '', headers: { 'content-type': 'text/plain' } },
      { body: '{}' },
      { body: ' { } ' },
    ]
    for (const options of empties) {
      expectOk(await q.call('POST', 'pop', options))
      expectOk(await q.call('POST', 'purge', options))
      expectOk(await call('POST', path(`${id}-deadletter`, 'redrive'), options))
    }
    const surplus = await q.call('POST', 'pop', { body: '{"count":5}' })
    expect(expectError(surplus, 400, 'UNKNOWN_FIELD').message).toContain('count')
    expectError(await q.call('POST', 'pop', { body: '[]' }), 400, 'INVALID_JSON')
  },
  'a signature in the query is no parameter': async ({ q }) => {
    const signed = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=ab&X-Amz-Signature=cd'
    expectOk(await q.call('POST', 'pop', { query: `count=2&${signed}` }))
    expectOk(await q.call('POST', 'pop', { query: '&&count=2&' }))
  },
  'an error says what to do and whether to try again, in one shape': async ({ q }) => {
    const answer = await q.call('POST', 'push', { body: '{"item":1,"priority":-1}' })
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(json(answer))).toEqual([
      'success',
      'error_code',
      'message',
      'retryable',
      'request_id',
      'field',
    ])
    expect(json(answer)).toMatchObject({
      success: false,
      error_code: 'INVALID_PRIORITY',
      message: 'priority must be an integer from 0 to 2147483647',
      retryable: false,
      field: 'priority',
    })
  },
  'no answer may be kept on its way': async ({ q, call }) => {
    const all = [
      await q.call('GET', ''),
      await q.call('POST', 'pop'),
      await call('GET', '/nowhere'),
    ]
    for (const { headers } of all) expect(headers['cache-control']).toBe('no-store')
  },
  'an Idempotency-Key is 1 to 128 printable characters': async ({ q }) => {
    for (const key of ['k', 'x'.repeat(128), '{"a": ~}']) {
      const headers = { 'Idempotency-Key': key }
      expectOk(await q.call('POST', 'push', { body: '{"item":1}', headers }))
    }
  },
  'more than 100 priorities in a push are refused, and more than 1,000 in a queue': async ({
    q,
  }) => {
    const items = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ item: i, priority: from + i }))
    const push = (items: object[]) => q.call('POST', 'push', { body: JSON.stringify({ items }) })
    expectError(await push(items(0, 101)), 400, 'INVALID_PRIORITY')
    for (let from = 0; from < 1000; from += 100) expectOk(await push(items(from, 100)))
    const answer = await push(items(5000, 1))
    expectError(answer, 429, 'TOO_MANY_PRIORITIES')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  },
}
