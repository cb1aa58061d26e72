import { describe, expect, test } from 'vitest'
import { RouteTable } from '../../../local/gateway/requests.ts'

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
  test.each<[string, string, string, object?]>([
    ['a fixed path before a variable', 'GET /pets/dog', 'GET /pets/dog'],
    ['a variable', 'GET /pets/7', 'GET /pets/{id}', { id: '7' }],
    ['a method before ANY', 'POST /pets/cat', 'POST /pets/cat'],
    ['ANY for other methods', 'PUT /pets/cat', 'ANY /pets/cat'],
    [
      'several variables',
      'GET /pets/7/toys/ball',
      'GET /pets/{id}/toys/{toy}',
      { id: '7', toy: 'ball' },
    ],
    [
      'a greedy variable for what is deeper',
      'GET /pets/7/toys',
      'GET /pets/{proxy+}',
      { proxy: '7/toys' },
    ],
    [
      'not a greedy one of another method',
      'POST /pets/7/toys',
      'ANY /{proxy+}',
      { proxy: 'pets/7/toys' },
    ],
    ['the root', 'GET /', 'GET /'],
    ['a variable, which is decoded', 'GET /pets/a%2Fb%20%C3%A9', 'GET /pets/{id}', { id: 'a/b é' }],
    [
      'a variable that is no encoding, as it came',
      'GET /pets/%zz',
      'GET /pets/{id}',
      { id: '%zz' },
    ],
  ])('is %s', (_, request, key, parameters) => {
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
