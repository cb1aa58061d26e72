// What a web page can make a browser send here, over real HTTP: who is served, and who is not.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, type RequestRecord, startGateway } from '../../../local/gateway/gateway.ts'
import { sendRaw } from '../raw-request.ts'

const cors = {
  allowOrigins: ['https://shop.example'],
  allowMethods: ['POST'],
  allowHeaders: [],
  exposeHeaders: [],
  allowCredentials: false,
}

let gateway: Gateway
let invoked = 0
const records: RequestRecord[] = []
beforeAll(async () => {
  gateway = await startGateway(0)
  gateway.open({
    api: {
      name: 'Api',
      id: 'api',
      cors,
      routes: [{ key: '$default', functionArn: 'arn', timeoutMs: 1_000 }],
    },
    onRequest: (record) => records.push(record),
    invoke: async () => {
      invoked += 1
      return { kind: 'answered', payload: '{"statusCode":200,"body":"served"}' }
    },
  })
})
afterAll(() => gateway.close(1_000))
afterEach(() => {
  invoked = 0
  records.length = 0
})

type Sent = {
  readonly method?: string
  /** Without a port: ours. */
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly path?: string
}

function send({ method = 'POST', host = 'localhost', headers = {}, path = '/x' }: Sent) {
  const named = /:\w+$/.test(host) ? host : `${host}:${gateway.port}`
  const endpoint = `http://127.0.0.1:${gateway.port}`
  return sendRaw(endpoint, { method, path, headers: { host: named, ...headers } })
}

describe('A request is served', () => {
  test.each<[string, Sent]>([
    ['to localhost', {}],
    ['to localhost in capitals', { host: 'LocalHost' }],
    ['to a port that is forwarded to ours (ssh -L, a container)', { host: 'localhost:1' }],
    [
      'of a page from such a port',
      { host: 'localhost:1', headers: { origin: 'http://localhost:1' } },
    ],
    ['to 127.0.0.1', { host: '127.0.0.1' }],
    ['to another address of this machine', { host: '127.12.34.56' }],
    ['to [::1]', { host: '[::1]' }],
    ['of a page of this machine, from any port', { headers: { origin: 'http://localhost:3000' } }],
    ['of a page of this machine, by its address', { headers: { origin: 'https://127.0.0.1' } }],
    ['of a page of this machine, by IPv6', { headers: { origin: 'http://[::1]:5173' } }],
    ['of a page of an origin that may call', { headers: { origin: 'https://shop.example' } }],
    [
      'of such a page across sites, as its browser says',
      { headers: { origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' } },
    ],
    ['of an address that somebody typed', { method: 'GET', headers: { 'sec-fetch-site': 'none' } }],
    [
      'of a link that somebody followed, which a GET is for',
      {
        method: 'GET',
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
        },
      },
    ],
    ['of a page of ours', { method: 'GET', headers: { 'sec-fetch-site': 'same-origin' } }],
  ])('%s', async (_, sent) => {
    expect(await send(sent)).toEqual({ status: 200, text: 'served' })
    expect(invoked).toBe(1)
  })
})

const crossSite = { 'sec-fetch-site': 'cross-site' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

describe('A request is refused', () => {
  test.each<[string, Sent, RegExp]>([
    ['to a name that was made to mean this machine', { host: 'evil.test' }, /Host .*"evil\.test:/],
    ['to such a name, for a look', { method: 'GET', host: 'evil.test' }, /Host/],
    ['to a name that begins like ours', { host: 'localhost.evil.test' }, /Host/],
    ['to a name that begins like an address', { host: '127.0.0.1.evil.test' }, /Host/],
    ['to a name that ends like ours', { host: 'evillocalhost' }, /Host/],
    ['to a name below ours', { host: 'shop.localhost' }, /Host/],
    ['to no name', { host: '' }, /Host/],
    ['to such a name on a forwarded port', { host: 'evil.test:1' }, /Host .*"evil\.test:1"/],
    ['to our name and no port', { host: 'localhost:x' }, /Host .*"localhost:x"/],
    [
      'of a page from elsewhere on a forwarded port',
      { host: 'localhost:1', headers: { origin: 'http://evil.test:1' } },
      /page/,
    ],
    ['to our name and somebody else’s', { host: 'localhost@evil.test' }, /Host/],
    ['to another address', { host: '10.0.0.1' }, /Host/],
    ['of a page from elsewhere', { headers: { origin: 'https://evil.test' } }, /"https:\/\/evil/],
    ['of its form', { headers: { origin: 'https://evil.test', ...form } }, /corsOrigins/],
    [
      'of a page that looks like ours',
      { headers: { origin: 'http://localhost.evil.test' } },
      /page/,
    ],
    [
      'of a page like one that may call',
      { headers: { origin: 'https://shop.example.evil' } },
      /page/,
    ],
    ['of an allowed page over plain http', { headers: { origin: 'http://shop.example' } }, /page/],
    ['of a page that is nobody’s', { headers: { origin: 'null' } }, /"null"/],
    ['of an extension', { headers: { origin: 'chrome-extension://abc' } }, /page/],
    ['of a page below ours', { headers: { origin: 'http://shop.localhost:3000' } }, /page/],
    ['of two pages', { headers: { origin: 'http://localhost, http://evil.test' } }, /page/],
    [
      'that asks first',
      {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.test', 'access-control-request-method': 'POST' },
      },
      /page/,
    ],
    ['for an image of a page elsewhere', { method: 'GET', headers: crossSite }, /Sec-Fetch-Site/],
    [
      'for a frame of it',
      {
        method: 'GET',
        headers: { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      },
      /Sec-Fetch-Site/,
    ],
    [
      'of a form that says nothing of its page',
      {
        method: 'POST',
        headers: { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      },
      /Sec-Fetch-Site/,
    ],
  ])('%s', async (_, sent, says) => {
    const { status, text } = await send(sent)
    expect(invoked).toBe(0)
    expect(status).toBe(403)
    expect(JSON.parse(text)).toEqual({
      success: false,
      error_code: 'FORBIDDEN',
      message: expect.stringMatching(says),
      retryable: false,
      request_id: expect.stringMatching(/=$/),
    })
    expect(JSON.parse(text).message).toMatch(/^Cannot serve this request because .+; [a-z]/)
  })

  test('whatever its body and its path, and the terminal shows why', async () => {
    expect((await send({ host: 'evil.test', path: '/nowhere' })).status).toBe(403)
    expect(records).toEqual([
      expect.objectContaining({
        path: '/nowhere',
        status: 403,
        summary: { error_code: 'FORBIDDEN' },
      }),
    ])
  })
})

/** As they came: `fetch` would join those that are there twice. */
async function headersOf(method: string, headers: Record<string, string>): Promise<string[]> {
  const sent = request({ host: '127.0.0.1', port: gateway.port, method, path: '/x', headers })
  const answered = once(sent, 'response')
  sent.end()
  const [response] = (await answered) as [IncomingMessage]
  response.resume()
  return response.rawHeaders.map((text) => text.toLowerCase())
}

test.each([
  ['a preflight', 'OPTIONS', { 'access-control-request-method': 'POST' }],
  ['any other answer', 'POST', {}],
])('%s names the origin once: a browser refuses it twice', async (_, method, headers) => {
  const names = await headersOf(method, { ...headers, origin: 'https://shop.example' })
  expect(names.filter((name) => name === 'access-control-allow-origin')).toHaveLength(1)
})
