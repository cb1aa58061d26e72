import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Gateway, startGateway } from '../../../local/gateway/gateway.ts'

const origin = 'https://shop.example'
let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway(0)
  gateway.open({
    api: {
      name: 'Api',
      id: 'api',
      routes: [],
      cors: {
        allowOrigins: [origin],
        allowMethods: ['POST'],
        allowHeaders: [],
        exposeHeaders: [],
        allowCredentials: false,
      },
    },
    onRequest: () => {},
    invoke: async () => ({ kind: 'throttled' }),
  })
})
afterAll(() => gateway.close(1_000))

/** As they came: `fetch` would join those that are there twice. */
const headersOf = (method: string, headers: Record<string, string>): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: gateway.port,
      method,
      path: '/queue/a/push',
      headers,
    }
    const sent = request(options, (response) => {
      response.resume()
      resolve(response.rawHeaders.map((text) => text.toLowerCase()))
    })
    sent.on('error', reject)
    sent.end()
  })

test.each([
  ['a preflight', 'OPTIONS', { origin, 'access-control-request-method': 'POST' }],
  ['any other answer', 'POST', { origin }],
])('%s names the origin once: a browser refuses it twice', async (_, method, headers) => {
  const names = await headersOf(method, headers)
  expect(names.filter((name) => name === 'access-control-allow-origin')).toHaveLength(1)
})
