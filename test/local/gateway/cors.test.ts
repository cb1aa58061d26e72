import { describe, expect, test } from 'vitest'
import { corsHeaders, preflight } from '../../../local/gateway/gateway.ts'

const cors = {
  allowOrigins: ['https://shop.example', 'http://*'],
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['content-type'],
  exposeHeaders: ['etag'],
  maxAgeSeconds: 60,
  allowCredentials: true,
}
const asking = { 'access-control-request-method': 'POST' }

describe('a page of another origin', () => {
  test('is told what it may do', () => {
    const origin = 'https://shop.example'
    const answer = preflight(cors, 'OPTIONS', { ...asking, origin })
    expect(answer?.status).toBe(204)
    expect(Object.fromEntries(answer?.headers ?? [])).toEqual({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET,POST',
      'access-control-allow-headers': 'content-type',
      'access-control-expose-headers': 'etag',
      'access-control-max-age': '60',
    })
  })

  test('only an OPTIONS that asks for a method is a preflight', () => {
    expect(preflight(cors, 'OPTIONS', {})).toBeUndefined()
    expect(preflight(cors, 'POST', asking)).toBeUndefined()
  })

  test.each([
    ['its origin', 'https://shop.example', 'https://shop.example'],
    ['any of a scheme', 'http://a.example', 'http://a.example'],
    ['not another one', 'https://other.example', undefined],
    ['nothing without an origin', undefined, undefined],
  ])('sees answers if it is allowed: %s', (_, origin, allowed) => {
    const headers = Object.fromEntries(corsHeaders(cors, origin === undefined ? {} : { origin }))
    expect(headers['access-control-allow-origin']).toBe(allowed)
  })

  test('everybody, where everybody is allowed', () => {
    const all = { ...cors, allowOrigins: ['*'] }
    expect(corsHeaders(all, { origin: 'https://x' })[0]).toEqual([
      'access-control-allow-origin',
      '*',
    ])
  })
})
