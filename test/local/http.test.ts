// A stack over HTTP, with functions for the odd cases.

import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestRecord } from '../../local/gateway/gateway.ts'
import type { LocalStack } from '../../local/start-local-stack.ts'
import { makeWorkplace, until } from './a-stack.ts'

const code = `
  let calls = 0
  export const handler = async (event) => {
    calls += 1
    switch (event.queryStringParameters?.do) {
      case 'throw': throw new Error('secret')
      case 'exit': process.exit(1)
      case 'wait': return new Promise(() => {})
      case 'malformed': return { statusCode: 200, body: { a: 1 } }
      case 'badheader': return { statusCode: 200, headers: { 'x-a': 'a\\nb' }, body: '' }
      case 'cookies': return { statusCode: 200, cookies: ['a=1', 'b=2'], body: '' }
      case 'bytes': return { statusCode: 200, body: 'AP8=', isBase64Encoded: true }
      case 'log':
        console.log(JSON.stringify({ message: 'request', write_units: 1 }))
        return 'logged'
      default: return event
    }
  }`

const workplace = makeWorkplace()
const requests: RequestRecord[] = []
let stack: LocalStack

beforeAll(async () => {
  stack = await workplace.start(
    {
      functions: { Serve: { code, properties: { Timeout: 1 } }, Other: { code } },
      routes: { 'GET /a/{id}': 'Serve', 'POST /a/{id}': 'Serve', 'GET /b': 'Other' },
    },
    { listeners: { onRequest: (one) => requests.push(one) } },
  )
})
afterAll(() => workplace.cleanUp())

const get = (path: string, init?: RequestInit) => fetch(`${stack.url}${path}`, init)

describe('a request', () => {
  test('is an event to the function of its route', async () => {
    const response = await get('/a/x%2Fy?n=1&n=2', { headers: { cookie: 'c=1' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('apigw-requestid')).toMatch(/=$/)
    expect(await response.json()).toMatchObject({
      version: '2.0',
      routeKey: 'GET /a/{id}',
      pathParameters: { id: 'x/y' },
      queryStringParameters: { n: '1,2' },
      cookies: ['c=1'],
      headers: { 'x-forwarded-port': new URL(stack.url).port },
      requestContext: { http: { method: 'GET', path: '/a/x/y' }, stage: '$default' },
    })
  })

  test('brings its body along', async () => {
    const headers = { 'content-type': 'application/json' }
    const response = await get('/a/x', { method: 'POST', headers, body: '{"é":1}' })
    expect(await response.json()).toMatchObject({ body: '{"é":1}', isBase64Encoded: false })
  })

  test('is answered in bytes and cookies as well', async () => {
    const bytes = await get('/a/x?do=bytes')
    expect([...new Uint8Array(await bytes.arrayBuffer())]).toEqual([0, 255])
    expect((await get('/a/x?do=cookies')).headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  test('is answered on both addresses of this machine', async () => {
    const { port } = new URL(stack.url)
    for (const host of ['127.0.0.1', '[::1]']) {
      expect((await fetch(`http://${host}:${port}/b`)).status).toBe(200)
    }
  })

  test.each([
    ['that no route takes', 'GET /nothing', 404],
    ['with a method that no route takes', 'PUT /b', 404],
    ['to a function that throws', 'GET /a/x?do=throw', 500],
    ['to a function that dies', 'GET /a/x?do=exit', 500],
    ['to a function that takes too long', 'GET /a/x?do=wait', 500],
    ['with a malformed answer', 'GET /a/x?do=malformed', 500],
    ['with an answer HTTP does not allow', 'GET /a/x?do=badheader', 500],
  ])('%s (%s) gets %i', async (_, asked, status) => {
    const [method = '', path = ''] = asked.split(' ')
    const response = await get(path, { method })
    expect(response.status).toBe(status)
    const message = status === 404 ? 'Not Found' : 'Internal Server Error'
    expect(await response.json()).toEqual({ message })
  })

  test.each([
    { name: 'above 10 MB', bytes: 10 * 1024 * 1024 + 1, chunked: false },
    { name: 'above 10 MB that does not say so', bytes: 10 * 1024 * 1024 + 1, chunked: true },
    // 5 MB in base64 are more than Lambda takes.
    { name: 'that makes too large an event', bytes: 5 * 1024 * 1024, chunked: false },
  ])('$name gets 413', async ({ bytes, chunked }) => {
    const sent = request(`${stack.url}/a/x`, {
      method: 'POST',
      ...(chunked ? {} : { headers: { 'content-length': bytes } }),
    })
    const status = await new Promise((resolve, reject) => {
      sent.on('response', (response) => resolve(response.resume().statusCode))
      sent.on('error', reject)
      sent.write(Buffer.alloc(bytes))
      // Without its length it is refused as soon as it is too long, not when it is over.
      if (!chunked) sent.end()
    })
    expect(status).toBe(413)
    sent.destroy()
  })

  test.each([
    [
      'headers that are too large',
      '431',
      `GET /b HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(11_000)}\r\n\r\n`,
    ],
    ['something else than HTTP', '400', 'hello\r\n\r\n'],
  ])('%s get %s in JSON', async (_, status, text) => {
    const socket = connect(Number(new URL(stack.url).port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (data) => {
      answer += data
    })
    socket.write(text)
    await new Promise((resolve) => socket.on('close', resolve))
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toMatch(/\r\n\r\n\{"message":"[^"]+"\}$/)
  })

  test('is told to its listener, with what the function logged about it', async () => {
    requests.length = 0
    await get('/a/x?do=log')
    await get('/nothing?secret=1')
    await until(() => requests.length === 2)
    expect(requests).toEqual([
      {
        atMs: expect.any(Number),
        method: 'GET',
        path: '/a/x',
        status: 200,
        durationMs: expect.any(Number),
        summary: { message: 'request', write_units: 1 },
      },
      expect.objectContaining({ path: '/nothing', status: 404 }),
    ])
  })
})

test('functions can be run without HTTP', async () => {
  expect(await stack.invoke('Serve', { n: 1 })).toEqual({ kind: 'answered', payload: '{"n":1}' })
  await expect(stack.invoke('Serv', {})).rejects.toThrow(
    /no function of the template has this logical id; did you mean Serve\? \(.*\bServe\b.*\)$/,
  )
  await expect(stack.invoke('Nobody', {})).rejects.toThrow(/this logical id \(.*\bServe\b/)
})
