// What becomes of credentials where the service's address leads elsewhere. Real servers, because it
// is fetch that follows redirects.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClient, type PushPopError } from '../../client/index.ts'
import { spawnCli } from '../cli/a-run.ts'

type Heard = { readonly method: string; readonly url: string; readonly authorization: string }

/** Answers with a redirect to the other, which answers everything. */
let redirecting: Server
let elsewhere: Server
let url: string
let elsewhereUrl: string
let heardHere: Heard[]
let heardElsewhere: Heard[]
let status = 307

beforeAll(async () => {
  const listen = async (server: Server): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  elsewhere = createServer(({ method = '', url = '', headers }, response) => {
    heardElsewhere.push({ method, url, authorization: headers.authorization ?? '' })
    response.end('{"items":[],"count":0,"details":[],"status":"ok"}')
  })
  elsewhereUrl = await listen(elsewhere)
  redirecting = createServer(({ method = '', url = '', headers }, response) => {
    heardHere.push({ method, url, authorization: headers.authorization ?? '' })
    response.writeHead(status, { location: `${elsewhereUrl}${url}&state=secret` }).end('moved')
  })
  url = await listen(redirecting)
})
afterAll(() => {
  redirecting.close()
  elsewhere.close()
})
beforeEach(() => {
  heardHere = []
  heardElsewhere = []
  status = 307
})

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'SECRET' }
const auths = [
  { kind: 'none' },
  { kind: 'token', token: 'abc' },
  { kind: 'iam', credentials, region: 'eu-west-1' },
] as const

const failureOf = (call: Promise<unknown>): Promise<PushPopError> =>
  call.then(
    (answer) => expect.unreachable(`it answered ${JSON.stringify(answer)}`),
    (error: PushPopError) => error,
  )

describe.each(auths)('a redirect of a call with $kind', (auth) => {
  test.each([301, 302, 303, 307, 308])(
    '(%i) is not followed, nor asked for again',
    async (code) => {
      status = code
      const queue = createClient({ url, auth }).queue('q')
      const calls = [
        () => queue.push(1, { idempotent: true }),
        () => queue.pop(),
        () => queue.acknowledge('AAAAAAAAAAA'),
        () => queue.inspect(),
      ]
      for (const call of calls) {
        const error = await failureOf(call())
        expect(error).toMatchObject({
          code: 'UNEXPECTED_ANSWER',
          status: code,
          retryable: false,
          outcome: undefined,
          attempts: 1,
        })
        expect(error.message).toBe(
          `Cannot ask ${url} because it redirects to ${elsewhereUrl}, and a redirect is not followed; ` +
            'give the address that PushPop itself answers at',
        )
      }
      expect(heardHere.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'GET'])
      expect(heardElsewhere).toEqual([])
    },
  )
})

test.each([
  ['that names no address', {}],
  ['whose address is none', { location: 'http://[' }],
  ['that leads out of the web', { location: 'app://open' }],
])('A redirect %s is refused as well', async (_, headers: Record<string, string>) => {
  const fetch = async () => new Response('', { status: 302, headers })
  const error = await failureOf(createClient({ url, fetch }).health())
  expect(error.message).toContain('because it redirects to another address,')
})

test('A browser only says that there was a redirect, and nothing more', async () => {
  const opaque = { type: 'opaqueredirect', status: 0, headers: new Headers(), text: async () => '' }
  const fetch = async () => opaque as Response
  const error = await failureOf(createClient({ url, fetch }).queue('q').push(1))
  expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: undefined, outcome: undefined })
  expect(error.message).toContain('because it redirects to another address,')
})

test('A consumer at an address that redirects ends, and says why', async () => {
  const work = createClient({ url })
    .queue('q')
    .consume(() => {})
  expect(await failureOf(work)).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 307 })
  expect(heardElsewhere).toEqual([])
})

describe('The command line', () => {
  test.each([
    ['push', 'q', '1'],
    ['rate', 'key'],
  ])('does not follow a redirect of %s', async (...words) => {
    const command = spawnCli([...words, '--endpoint', url], { PUSHPOP_TOKEN: 'abc' })
    expect(await command.ended).toBe(1)
    expect(command.stderr()).toContain(`because it redirects to ${elsewhereUrl}, and`)
    expect(heardHere.map(({ authorization }) => authorization)).toEqual(['Bearer abc'])
    expect(heardElsewhere).toEqual([])
  })
})
