import { describe, expect, test } from 'vitest'
import { functionResponse } from '../../../local/gateway/function-response.ts'

const json = ['content-type', 'application/json']

describe('what a function returned as HTTP', () => {
  test.each([
    {
      name: 'status, headers and body',
      returned: { statusCode: 201, headers: { 'X-A': 1, 'Content-Type': 'text/html' }, body: 'hi' },
      response: {
        status: 201,
        headers: [
          ['x-a', '1'],
          ['content-type', 'text/html'],
        ],
        body: 'hi',
      },
    },
    {
      name: 'plain text where no type is given',
      returned: { statusCode: 200, body: 'hi' },
      response: {
        status: 200,
        headers: [['content-type', 'text/plain;charset=UTF-8']],
        body: 'hi',
      },
    },
    {
      name: 'each cookie is a header',
      returned: { statusCode: 204, headers: { 'content-type': 'a' }, cookies: ['a=1', 'b=2'] },
      response: {
        status: 204,
        headers: [
          ['content-type', 'a'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ],
        body: '',
      },
    },
    {
      name: 'bytes in base64',
      returned: {
        statusCode: 200,
        headers: { 'content-type': 'a' },
        body: 'AAE=',
        isBase64Encoded: true,
      },
      response: { status: 200, headers: [['content-type', 'a']], body: Buffer.from([0, 1]) },
    },
    {
      name: 'the headers of the connection are not its own',
      returned: {
        statusCode: 200,
        headers: { 'content-type': 'a', 'Content-Length': '9', connection: 'x' },
        body: '',
      },
      response: { status: 200, headers: [['content-type', 'a']], body: '' },
    },
    {
      name: 'an object without a status is the body',
      returned: { ok: true },
      response: { status: 200, headers: [json], body: '{"ok":true}' },
    },
    {
      name: 'a list too',
      returned: [1, 2],
      response: { status: 200, headers: [json], body: '[1,2]' },
    },
    {
      name: 'a text as it is',
      returned: 'hi',
      response: { status: 200, headers: [json], body: 'hi' },
    },
    { name: 'nothing', returned: null, response: { status: 200, headers: [json], body: 'null' } },
    {
      name: 'a status as text',
      returned: { statusCode: '202', headers: { 'content-type': 'a' } },
      response: { status: 202, headers: [['content-type', 'a']], body: '' },
    },
  ])('$name', ({ returned, response }) => {
    expect(functionResponse(JSON.stringify(returned))).toEqual(response)
  })

  test.each([
    { name: 'a body that is no text', returned: { statusCode: 200, body: { a: 1 } } },
    { name: 'a status that is none', returned: { statusCode: 'fine', body: '' } },
    { name: 'a status out of range', returned: { statusCode: 99, body: '' } },
    { name: 'headers that are no object', returned: { statusCode: 200, headers: ['a'] } },
    { name: 'cookies that are no list', returned: { statusCode: 200, cookies: 'a=1' } },
  ])('$name is an internal error', ({ returned }) => {
    expect(functionResponse(JSON.stringify(returned))).toEqual({
      status: 500,
      headers: [json],
      body: '{"message":"Internal Server Error"}',
    })
  })
})
