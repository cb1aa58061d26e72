// Where credentials may go: over https, and over plain http to this machine alone.

import { describe, expect, test } from 'vitest'
import { isLoopback } from '../../client/auth.ts'
import { type Auth, createClient } from '../../client/index.ts'
import { run } from '../cli/a-run.ts'
import { words } from '../lambdas/http/hostile/hostile-case.ts'
import { clientOf, succeeds } from './scripted.ts'

const here = words(`
  http://localhost:8000 http://LOCALHOST http://127.0.0.1:8000 http://127.9.8.7 http://127.1
  http://0x7f000001 http://[::1]:8000 http://[0:0:0:0:0:0:0:1]
`)
// Browsers take names below localhost for this machine, but Node asks the name server, which may answer
// anything. Whether a host answers at a mapped address (::ffff:…) differs between systems.
const elsewhere = words(`
  http://queue.example.com http://localhost.example.com http://notlocalhost http://.localhost
  http://shop.localhost:8000 http://a.b.localhost http://localhost.
  http://127.0.0.1.example.com http://128.0.0.1 http://10.0.0.1:8000 http://0.0.0.0
  http://[::] http://[::2] http://[::ffff:127.0.0.1] http://192.168.0.7
`)

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'SECRET' }
const withCredentials: readonly Auth[] = [
  { kind: 'token', token: 'abc' },
  { kind: 'iam', credentials, region: 'eu-west-1' },
]

test.each(here)('%s is this machine', (url) => {
  expect(isLoopback(new URL(url))).toBe(true)
})

test.each(elsewhere)('%s is not this machine', (url) => {
  expect(isLoopback(new URL(url))).toBe(false)
})

describe.each(withCredentials)('a client with $kind', (auth) => {
  test.each(elsewhere)('is not made for %s', (url) => {
    expect(() => createClient({ url, auth })).toThrow(
      new TypeError(
        `Cannot send credentials to ${new URL(url).origin} because it is not https, and everybody on ` +
          "the way could read them; give its https address, or auth: { kind: 'none' }",
      ),
    )
  })

  test.each([...here, 'https://queue.example.com'])('is made for %s', async (url) => {
    const { client, asked } = clientOf([succeeds], { url, auth })
    await client.health()
    expect(asked[0]?.headers.get('authorization')).toMatch(/^(Bearer|AWS4-HMAC-SHA256) /)
  })
})

test('A client without credentials may speak plain http', async () => {
  const { client, asked } = clientOf([succeeds], { url: 'http://queue.example.com' })
  await client.health()
  expect(asked[0]?.headers.has('authorization')).toBe(false)
})

describe('The command line', () => {
  const endpoint = ['--endpoint', 'http://queue.example.com'] as const

  test.each([
    ['push', 'q', '1'],
    ['rate', 'key'],
  ])('does not %s over plain http with a token', async (...words) => {
    const ran = await run([...words, ...endpoint], { env: { PUSHPOP_TOKEN: 'abc' } })
    expect(ran).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'Cannot send credentials to http://queue.example.com because it is not https, and everybody ' +
        'on the way could read them; give its https address, or --auth none\n',
    })
  })

  test('does not sign over plain http with AWS credentials, which it looks for by itself', async () => {
    const { code, stderr } = await run(['stats', ...endpoint, '--region', 'eu-west-1'])
    expect(code).toBe(2)
    expect(stderr).toContain('Cannot send credentials to http://queue.example.com because')
  })
})

test.each([
  ['localhost:8000', 'http://localhost:8000'],
  ['localhost', 'http://localhost'],
  ['127.0.0.1:8000', 'http://127.0.0.1:8000'],
  ['ftp://x', 'https://x'],
  ['queue.example.com/stage', 'https://queue.example.com/stage'],
  ['', 'an address such as http://localhost:8000'],
])('a url that is %j is refused, with what to write instead', (url, instead) => {
  expect(() => createClient({ url })).toThrow(TypeError)
  expect(() => createClient({ url })).toThrow(`write ${instead}`)
})
