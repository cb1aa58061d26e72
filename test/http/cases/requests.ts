import { expect } from 'vitest'
import { json } from '../call.ts'
import { type Cases, expectError, expectOk, path } from './actions.ts'

const queueCalls = [
  ['POST', 'push'],
  ['POST', 'pop'],
  ['POST', 'acknowledge'],
  ['POST', 'extend-lock'],
  ['POST', 'release'],
  ['POST', 'dead-letter'],
  ['GET', ''],
  ['GET', 'items'],
  ['GET', 'config'],
  ['PUT', 'config'],
  ['POST', 'purge'],
  ['POST', 'redrive'],
] as const

const bodies: Readonly<Record<string, string>> = {
  push: '{"item":1}',
  acknowledge: '{"lock_id":"AAAAAAAAAAA"}',
  release: '{"lock_id":"AAAAAAAAAAA"}',
  'dead-letter': '{"lock_id":"AAAAAAAAAAA"}',
  'extend-lock': '{"lock_id":"AAAAAAAAAAA","ttl_seconds":1}',
  config: '{"capacity":1}',
}

export const requestCases: Cases = {
  'an id that is none is refused by every call': async ({ call }) => {
    const long = 'a'.repeat(101)
    const wrong = ['a%20b', '%C3%A4', '%00', 'a%2Fb', '~', '*', 'a,b', 'a%0Ab', '%252e', long]
    for (const id of [...wrong, `${long}-deadletter`, 'a-deadletter-deadletter']) {
      for (const [method, verb] of queueCalls) {
        const answer = await call(method, path(id, verb))
        expectError(answer, 400, 'INVALID_QUEUE_ID')
      }
    }
  },
  'an address that is none is 404, and one that takes another method 405 with Allow': async ({
    call,
    id,
  }) => {
    for (const at of [
      '/',
      '/queue',
      '/queue/',
      `/queue/${id}/`,
      `/queue/${id}/push/x`,
      '/Queues',
    ]) {
      expectError(await call('GET', at), 404, 'NOT_FOUND')
    }
    expectError(await call('POST', `/queue/${id}/peek`), 404, 'NOT_FOUND')
    const wrongMethods = [
      ['GET', path(id, 'push'), 'POST'],
      ['DELETE', path(id), 'GET'],
      ['DELETE', path(id, 'config'), 'GET, PUT'],
      ['POST', '/queues', 'GET'],
      ['PUT', '/healthz', 'GET'],
      ['PATCH', path(id, 'pop'), 'POST'],
    ] as const
    for (const [method, at, allow] of wrongMethods) {
      const answer = await call(method, at)
      expectError(answer, 405, 'METHOD_NOT_ALLOWED')
      expect(answer.headers.allow).toBe(allow)
    }
  },
  'a body that is not application/json is 415': async ({ q, call, id }) => {
    const types = [
      'text/plain',
      'application/xml',
      'application/jsonp',
      'application/json; charset=latin1',
      'application/vnd.api+json',
      'multipart/form-data; boundary=x',
    ]
    for (const [method, verb] of queueCalls) {
      for (const type of types) {
        const body = bodies[verb] ?? '{}'
        const answer = await call(method, path(id, verb), {
          body,
          headers: { 'content-type': type },
        })
        expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
      }
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const [verb, body] of [
      ['push', '{"item":1}'],
      ['acknowledge', 'lock_id=AAAAAAAAAAA'],
    ] as const) {
      const answer = await call('POST', path(id, verb), { body, headers: form })
      expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
    const packed = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const answer = await q.call('POST', 'push', { body: '{"item":1}', headers: packed })
    expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    expect((await q.inspect()).count).toBe(0)
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
  'where a body may be absent, so it may be empty, or an object of nothing': async ({
    q,
    call,
    id,
  }) => {
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
  'what is not JSON, or no object, is refused': async ({ q }) => {
    for (const body of ['{', 'null', '[]', '"x"', '5', '{"item":1}}', "{'item':1}", '\ufeff{}']) {
      expectError(await q.call('POST', 'push', { body }), 400, 'INVALID_JSON')
    }
    expectError(await q.call('POST', 'push'), 400, 'INVALID_JSON')
    expectError(await q.call('POST', 'push', { body: '{}' }), 400, 'INVALID_ITEM')
  },
  'an unknown field is refused by name, and so is one given twice': async ({ q }) => {
    const wrong = [
      ['{"item":1,"priorty":2}', 'UNKNOWN_FIELD', 'priorty'],
      ['{"item":1,"__proto__":2}', 'UNKNOWN_FIELD', '__proto__'],
      ['{"item":1,"constructor":2}', 'UNKNOWN_FIELD', 'constructor'],
      ['{"items":[{"item":1,"ttl":2}]}', 'UNKNOWN_FIELD', 'items[0].ttl'],
      ['{"items":[{"item":1}],"item":1}', 'UNKNOWN_FIELD', 'item'],
      ['{"item":1,"item":1}', 'INVALID_PARAMETER', 'item'],
      ['{"item":1,"\\u0069tem":1}', 'INVALID_PARAMETER', 'item'],
      ['{"priority":1,"item":1,"priority":1}', 'INVALID_PARAMETER', 'priority'],
      ['{"items":[{"item":1},{"item":1,"item":2}]}', 'INVALID_PARAMETER', 'items[1].item'],
    ] as const
    for (const [body, code, name] of wrong) {
      const refused = expectError(await q.call('POST', 'push', { body }), 400, code)
      expect(refused.message).toContain(name)
    }
    const locks = '{"lock_id":"AAAAAAAAAAA","lock_id":"BBBBBBBBBBB"}'
    const twice = await q.call('POST', 'acknowledge', { body: locks })
    expect(expectError(twice, 400, 'INVALID_PARAMETER').message).toContain('lock_id')
    expect((await q.inspect()).count).toBe(0)
  },
  'an unknown parameter is refused by every call, and a signature is not one': async ({
    q,
    call,
    id,
  }) => {
    for (const [method, verb] of queueCalls) {
      const body = bodies[verb]
      const options = method === 'GET' || body === undefined ? {} : { body }
      const answer = await call(method, path(id, verb), { ...options, query: 'verbose=1' })
      expect(expectError(answer, 400, 'UNKNOWN_FIELD').message).toContain('verbose')
    }
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
  'an Idempotency-Key is 1 to 128 printable characters': async ({ q, call, id }) => {
    for (const key of ['k', 'x'.repeat(128), '{"a": ~}']) {
      const headers = { 'Idempotency-Key': key }
      expectOk(await q.call('POST', 'push', { body: '{"item":1}', headers }))
    }
    await q.lock()
    for (const key of ['', 'x'.repeat(129), 'é', 'a\tb']) {
      const headers = { 'Idempotency-Key': key }
      for (const [verb, options] of [
        ['push', { body: '{"item":1}', headers }],
        ['pop', { query: 'require_ack=true', headers }],
      ] as const) {
        const refused = expectError(
          await call('POST', path(id, verb), options),
          400,
          'INVALID_PARAMETER',
        )
        expect(refused.message).toContain('Idempotency-Key')
      }
    }
  },
  'more than 1,000 priorities at once are refused': async ({ q }) => {
    const items = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ item: i, priority: from + i }))
    await q.push({ items: items(0, 1000) })
    const body = JSON.stringify({ item: 1, priority: 5000 })
    const answer = await q.call('POST', 'push', { body })
    expectError(answer, 429, 'TOO_MANY_PRIORITIES')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  },
}
