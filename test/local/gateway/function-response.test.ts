import { describe, expect, test } from 'vitest'
import { functionResponse } from '../../../local/gateway/gateway.ts'

const json = ['content-type', 'application/json']

describe('what a function returned as HTTP', () => {
  test.each([
    [
      'status, headers and body',
      { statusCode: 201, headers: { 'X-A': 1, 'Content-Type': 'text/html' }, body: 'hi' },
      {
        status: 201,
        headers: [
          ['x-a', '1'],
          ['content-type', 'text/html'],
        ],
        body: 'hi',
      },
    ],
    [
      'plain text where no type is given',
      { statusCode: 200, body: 'hi' },
      {
        status: 200,
        headers: [['content-type', 'text/plain;charset=UTF-8']],
        body: 'hi',
      },
    ],
    [
      'each cookie is a header',
      { statusCode: 204, headers: { 'content-type': 'a' }, cookies: ['a=1', 'b=2'] },
      {
        status: 204,
        headers: [
          ['content-type', 'a'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ],
        body: '',
      },
    ],
    [
      'bytes in base64',
      {
        statusCode: 200,
        headers: { 'content-type': 'a' },
        body: 'AAE=',
        isBase64Encoded: true,
      },
      { status: 200, headers: [['content-type', 'a']], body: Buffer.from([0, 1]) },
    ],
    [
      'the headers of the connection are not its own',
      {
        statusCode: 200,
        headers: { 'content-type': 'a', 'Content-Length': '9', connection: 'x' },
        body: '',
      },
      { status: 200, headers: [['content-type', 'a']], body: '' },
    ],
    [
      'an object without a status is the body',
      { ok: true },
      { status: 200, headers: [json], body: '{"ok":true}' },
    ],
    ['a list too', [1, 2], { status: 200, headers: [json], body: '[1,2]' }],
    ['a text as it is', 'hi', { status: 200, headers: [json], body: 'hi' }],
    ['nothing', null, { status: 200, headers: [json], body: 'null' }],
    [
      'a status as text',
      { statusCode: '202', headers: { 'content-type': 'a' } },
      { status: 202, headers: [['content-type', 'a']], body: '' },
    ],
  ])('%s', (_, returned, response) => {
    expect(functionResponse(JSON.stringify(returned))).toEqual(response)
  })

  test.each([
    ['a body that is no text', { statusCode: 200, body: { a: 1 } }],
    ['a status that is none', { statusCode: 'fine', body: '' }],
    ['a status out of range', { statusCode: 99, body: '' }],
    ['headers that are no object', { statusCode: 200, headers: ['a'] }],
    ['cookies that are no list', { statusCode: 200, cookies: 'a=1' }],
  ])('%s is an internal error', (_, returned) => {
    expect(functionResponse(JSON.stringify(returned))).toEqual({
      status: 500,
      headers: [json],
      body: '{"message":"Internal Server Error"}',
    })
  })
})
