import { describe, expect, test } from 'vitest'
import { type GatewayRequest, requestEvent } from '../../../local/gateway/requests.ts'

const route = { key: 'POST /queue/{id}/push', functionArn: 'arn', timeoutMs: 1 }

function eventOf(request: Partial<GatewayRequest>, pathParameters?: Record<string, string>) {
  const whole: GatewayRequest = {
    method: 'POST',
    target: '/queue/a/push',
    httpVersion: '1.1',
    rawHeaders: ['Host', 'localhost:8000'],
    body: Buffer.from(''),
    sourceIp: '127.0.0.1',
    port: 8000,
    ...request,
  }
  const match = pathParameters ? { route, pathParameters } : { route }
  const nowMs = Date.UTC(2026, 2, 12, 19, 3, 58, 390)
  // As text, which is how a function gets it.
  return JSON.parse(
    JSON.stringify(requestEvent(whole, match, { apiId: 'api', requestId: 'r=', nowMs })),
  )
}

describe('the event of a request', () => {
  test('has the fields of version 2.0', () => {
    const event = eventOf(
      {
        rawHeaders: [
          'Host',
          'localhost:8000',
          'User-Agent',
          'curl',
          'Content-Type',
          'application/json',
        ],
        body: Buffer.from('{"item":"é"}'),
      },
      { id: 'a' },
    )
    expect(event).toMatchObject({
      version: '2.0',
      routeKey: 'POST /queue/{id}/push',
      rawPath: '/queue/a/push',
      rawQueryString: '',
      headers: {
        host: 'localhost:8000',
        'user-agent': 'curl',
        'content-type': 'application/json',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': '8000',
        'x-forwarded-proto': 'http',
        'x-amzn-trace-id': expect.stringMatching(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}/),
      },
      requestContext: {
        accountId: '123456789012',
        apiId: 'api',
        domainName: 'api.execute-api.us-east-1.amazonaws.com',
        domainPrefix: 'api',
        http: {
          method: 'POST',
          path: '/queue/a/push',
          protocol: 'HTTP/1.1',
          sourceIp: '127.0.0.1',
          userAgent: 'curl',
        },
        requestId: 'r=',
        routeKey: 'POST /queue/{id}/push',
        stage: '$default',
        time: '12/Mar/2026:19:03:58 +0000',
        timeEpoch: 1773342238390,
      },
      pathParameters: { id: 'a' },
      body: '{"item":"é"}',
      isBase64Encoded: false,
    })
  })

  test('what a request does not have is absent, not empty', () => {
    const event = eventOf({})
    for (const field of ['cookies', 'queryStringParameters', 'pathParameters', 'body']) {
      expect(event).not.toHaveProperty(field)
    }
    expect(event.isBase64Encoded).toBe(false)
  })

  test('the query raw, and read: repeats joined, decoded', () => {
    const event = eventOf({ target: '/q?count=1&count=2&a=x%20y+z&b&c=%zz' })
    expect(event.rawPath).toBe('/q')
    expect(event.rawQueryString).toBe('count=1&count=2&a=x%20y+z&b&c=%zz')
    expect(event.queryStringParameters).toEqual({ count: '1,2', a: 'x y z', b: '', c: '%zz' })
  })

  test('the path is decoded', () => {
    expect(eventOf({ target: '/queue/a%2Fb/%zz?x=%2F' })).toMatchObject({
      rawPath: '/queue/a%2Fb/%zz',
      rawQueryString: 'x=%2F',
    })
    expect(eventOf({ target: '/queue/a%2Fb' }).rawPath).toBe('/queue/a/b')
  })

  test('headers in lower case, repeats joined, cookies in a separate place', () => {
    const event = eventOf({
      rawHeaders: ['X-A', '1', 'x-a', '2', 'Cookie', 'a=1; b=2', 'cookie', 'c=3', '__proto__', 'p'],
    })
    expect(event.headers['x-a']).toBe('1,2')
    expect(event.headers).not.toHaveProperty('cookie')
    expect(Object.keys(event.headers)).toContain('__proto__')
    expect(event.cookies).toEqual(['a=1', 'b=2', 'c=3'])
  })

  test.each([
    ['application/json; charset=utf-8', true],
    ['APPLICATION/JSON', true],
    ['text/csv', true],
    ['application/xml', true],
    ['application/x-www-form-urlencoded', false],
    ['application/vnd.api+json', false],
    ['application/octet-stream', false],
    [undefined, false],
  ])('a body of type %s is text: %s', (type, isText) => {
    const rawHeaders = type === undefined ? [] : ['Content-Type', type]
    const event = eventOf({ rawHeaders, body: Buffer.from('hello') })
    expect(event.isBase64Encoded).toBe(!isText)
    expect(event.body).toBe(isText ? 'hello' : 'aGVsbG8=')
  })

  test('a body of text that is not UTF-8 comes in bytes, so that the function can tell', () => {
    const rawHeaders = ['content-type', 'application/json']
    const event = eventOf({ rawHeaders, body: Buffer.from([0x22, 0xff, 0x22]) })
    expect(event).toMatchObject({ isBase64Encoded: true, body: 'Iv8i' })
  })
})
