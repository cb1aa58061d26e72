import { describe, expect, test } from 'vitest'
import { RouteTable } from '../../../local/gateway/route-table.ts'

const keys = [
  'ANY /{proxy+}',
  'GET /pets/{proxy+}',
  'GET /pets/{id}',
  'GET /pets/dog',
  'ANY /pets/cat',
  'POST /pets/cat',
  'GET /pets/{id}/toys/{toy}',
  'GET /',
]
const route = (key: string) => ({ key, functionArn: 'arn', timeoutMs: 1 })
const table = new RouteTable(keys.map(route))
const withDefault = new RouteTable([route('POST /queue/{id}/push'), route('$default')])

describe('the route of a request', () => {
  test.each([
    { name: 'a fixed path before a variable', request: 'GET /pets/dog', key: 'GET /pets/dog' },
    { name: 'a variable', request: 'GET /pets/7', key: 'GET /pets/{id}', parameters: { id: '7' } },
    { name: 'a method before ANY', request: 'POST /pets/cat', key: 'POST /pets/cat' },
    { name: 'ANY for other methods', request: 'PUT /pets/cat', key: 'ANY /pets/cat' },
    {
      name: 'several variables',
      request: 'GET /pets/7/toys/ball',
      key: 'GET /pets/{id}/toys/{toy}',
      parameters: { id: '7', toy: 'ball' },
    },
    {
      name: 'a greedy variable for what is deeper',
      request: 'GET /pets/7/toys',
      key: 'GET /pets/{proxy+}',
      parameters: { proxy: '7/toys' },
    },
    {
      name: 'the greedy one of another method is passed over',
      request: 'POST /pets/7/toys',
      key: 'ANY /{proxy+}',
      parameters: { proxy: 'pets/7/toys' },
    },
    { name: 'the root', request: 'GET /', key: 'GET /' },
    {
      name: 'a variable is decoded',
      request: 'GET /pets/a%2Fb%20%C3%A9',
      key: 'GET /pets/{id}',
      parameters: { id: 'a/b é' },
    },
    {
      name: 'what is no encoding stays as it came',
      request: 'GET /pets/%zz',
      key: 'GET /pets/{id}',
      parameters: { id: '%zz' },
    },
  ])('$name', ({ request, key, parameters }) => {
    const [method = '', path = ''] = request.split(' ')
    const match = table.match(method, path)
    expect(match?.route.key).toBe(key)
    expect(match?.pathParameters).toEqual(parameters)
  })

  test.each(['GET /queue/a/push', 'POST /queue//push', 'POST /queue/a/push/', 'POST /', 'PUT /x'])(
    '%s is for $default',
    (request) => {
      const [method = '', path = ''] = request.split(' ')
      expect(withDefault.match(method, path)?.route.key).toBe('$default')
    },
  )

  test('without $default there is none', () => {
    const only = new RouteTable([route('GET /a')])
    expect(only.match('GET', '/b')).toBeUndefined()
    expect(only.match('POST', '/a')).toBeUndefined()
  })
})
