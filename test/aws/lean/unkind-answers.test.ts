// Answers of a store that goes wrong, or of what lies between: what the engine makes of them.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import { GetCommand } from '@aws-sdk/lib-dynamodb'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRequestHandler } from '../../../aws/connections.ts'
import { Dynamo } from '../../../aws/dynamo.ts'
import { failureOf } from '../../../aws/failures.ts'
import { createLeanDynamodb, type LeanDynamodbOptions } from '../../../aws/lean-client.ts'
import type { Credentials } from '../../../aws/signing.ts'
import { setEnvironment } from '../../support/environment.ts'
import { startServer } from '../network/a-server.ts'

const MINUTE = 60_000
const key = { pk: 'p', sk: 's' }
const aGet = () => new GetCommand({ TableName: 'table', Key: key }) as never

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** A server, a lean client of it, and an engine's door to it, which waits for nothing. */
async function open(answer: Answer, options: LeanDynamodbOptions = {}) {
  const requests: IncomingMessage[] = []
  const server = await startServer(
    createServer((request, response) => {
      requests.push(request)
      request.resume()
      request.on('end', () => answer(request, response, requests.length))
    }),
  )
  const client = createLeanDynamodb({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${server.port}`,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    ...options,
  })
  onTestFinished(async () => {
    client.destroy()
    await server.close()
  })
  const clock = { nowMs: Date.now, sleep: async () => {} }
  return { requests, client, dynamo: new Dynamo(client, 'table', clock, Math.random) }
}

const say = (response: ServerResponse, status: number, body: string | object, headers = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...headers }).end(text)
}
const ok = (response: ServerResponse) => say(response, 200, {})
const refuse = (response: ServerResponse, name: string, headers = {}) =>
  say(response, 400, { __type: `com.amazon.coral.service#${name}`, message: name }, headers)
const keyOf = (request: IncomingMessage): string =>
  /Credential=([^/]*)/.exec(request.headers.authorization ?? '')?.[1] ?? ''

const errorOf = (sending: Promise<unknown>): Promise<Error> =>
  sending.then(
    () => {
      throw new Error('It was answered')
    },
    (error: Error) => error,
  )

describe('A clock that is wrong by twenty minutes', () => {
  const storeMs = () => Date.now() + 20 * MINUTE
  const signedMs = ({ headers }: IncomingMessage) =>
    Date.parse(
      String(headers['x-amz-date']).replace(/(....)(..)(..T..)(..)(..)Z/, '$1-$2-$3:$4:$5Z'),
    )
  const judge =
    (headers = () => ({ date: new Date(storeMs()).toUTCString() }) as object): Answer =>
    (request, response) =>
      Math.abs(signedMs(request) - storeMs()) > 5 * MINUTE
        ? refuse(response, 'InvalidSignatureException', headers())
        : ok(response)

  it('is corrected by the date of the refusal, once for all requests to come.', async () => {
    const { requests, client } = await open(judge())
    await client.send(aGet())
    expect(requests).toHaveLength(2)
    await client.send(aGet())
    expect(requests).toHaveLength(3)
  })

  it.each([
    'InvalidSignatureException',
    'RequestExpired',
    'RequestInTheFuture',
    'RequestTimeTooSkewed',
    'SignatureDoesNotMatch',
  ])('is corrected if it is no more than 6 minutes, and AWS says %s.', async (name) => {
    const date = new Date(Date.now() + 6 * MINUTE).toUTCString()
    const { requests, client } = await open((_, response, count) =>
      count === 1 ? refuse(response, name, { date }) : ok(response),
    )
    await client.send(aGet())
    expect(requests).toHaveLength(2)
  })

  it('is not corrected by a date that no signature can have, and the client goes on.', async () => {
    const { requests, client } = await open((_, response, count) =>
      count === 1
        ? refuse(response, 'InvalidSignatureException', {
            date: 'Sat, 13 Sep 275760 00:00:00 GMT',
          })
        : ok(response),
    )
    expect(failureOf(await errorOf(client.send(aGet())))).toBe('refused')
    await client.send(aGet())
    expect(requests).toHaveLength(2)
  })

  it('is corrected for each of several requests that were under way.', async () => {
    const { requests, client } = await open(judge())
    await Promise.all([1, 2, 3].map(() => client.send(aGet())))
    expect(requests).toHaveLength(6)
  })

  it('is not corrected by a refusal without a date, and nothing was carried out.', async () => {
    // Node writes a date of its own unless told not to.
    const { requests, client } = await open((_, response) => {
      response.sendDate = false
      refuse(response, 'InvalidSignatureException')
    })
    expect(failureOf(await errorOf(client.send(aGet())))).toBe('refused')
    expect(requests).toHaveLength(1)
  })

  it('is not blamed for a signature that is wrong for another reason.', async () => {
    const { requests, client } = await open((_, response) =>
      refuse(response, 'InvalidSignatureException'),
    )
    expect(failureOf(await errorOf(client.send(aGet())))).toBe('refused')
    expect(requests).toHaveLength(1)
  })

  it('is not corrected for a refusal that says nothing of signatures, which is final.', async () => {
    const { requests, dynamo } = await open((_, response) =>
      refuse(response, 'ConditionalCheckFailedException', {
        date: new Date(storeMs()).toUTCString(),
      }),
    )
    expect((await dynamo.update(key, update)).kind).toBe('failed')
    expect(requests).toHaveLength(1)
  })

  it('that is corrected is not blamed for what comes later.', async () => {
    const { requests, client } = await open((request, response, count) =>
      count > 2
        ? refuse(response, 'SignatureDoesNotMatch', { date: new Date(storeMs()).toUTCString() })
        : judge()(request, response, count),
    )
    await client.send(aGet())
    expect((await errorOf(client.send(aGet()))).name).toBe('SignatureDoesNotMatch')
    expect(requests).toHaveLength(3)
  })

  it('is corrected back when somebody has set it right.', async () => {
    let wrongMs = -20 * MINUTE
    const { requests, client } = await open(
      (request, response) =>
        Math.abs(signedMs(request) - Date.now()) > 5 * MINUTE
          ? refuse(response, 'RequestExpired', { date: new Date().toUTCString() })
          : ok(response),
      { nowMs: () => Date.now() + wrongMs },
    )
    await client.send(aGet())
    wrongMs = 0
    await client.send(aGet())
    await client.send(aGet())
    expect(requests).toHaveLength(5)
  })

  it('is corrected once a request, whatever the store says then.', async () => {
    let ahead = 0
    const { requests, client } = await open((_, response) => {
      ahead += 20 * MINUTE
      const date = new Date(Date.now() + ahead).toUTCString()
      refuse(response, 'RequestTimeTooSkewed', { date })
    })
    expect((await errorOf(client.send(aGet()))).name).toBe('RequestTimeTooSkewed')
    expect(requests).toHaveLength(2)
  })
})

describe('Credentials', () => {
  const made = (accessKeyId: string, more: Partial<Credentials> = {}): Credentials => ({
    accessKeyId,
    secretAccessKey: 'secret',
    ...more,
  })

  it('that have expired are asked for again, and the request is sent once more.', async () => {
    const provider = vi.fn(async () => made(`key${provider.mock.calls.length}`))
    const { requests, client } = await open(
      (request, response) =>
        keyOf(request) === 'key1' ? refuse(response, 'ExpiredTokenException') : ok(response),
      { credentials: provider },
    )
    await client.send(aGet())
    await client.send(aGet())
    expect(requests.map(keyOf)).toEqual(['key1', 'key2', 'key2'])
  })

  it('that came meanwhile are kept when a late refusal of the former ones arrives.', async () => {
    const provider = vi.fn(async () => made(`key${provider.mock.calls.length}`))
    let refuseLate = () => {}
    const { client } = await open(
      (request, response, count) => {
        const no = () => refuse(response, 'ExpiredTokenException')
        if (keyOf(request) !== 'key1') {
          refuseLate()
          refuseLate = () => {}
          ok(response)
        } else if (count === 1) refuseLate = no
        else no()
      },
      { credentials: provider },
    )
    await Promise.all([client.send(aGet()), client.send(aGet())])
    expect(provider).toHaveBeenCalledTimes(2)
  })

  it('that stay expired end in a refusal: nothing was carried out.', async () => {
    const { requests, client } = await open((_, response) =>
      refuse(response, 'ExpiredTokenException'),
    )
    const error = await errorOf(client.send(aGet()))
    expect([error.name, failureOf(error)]).toEqual(['ExpiredTokenException', 'refused'])
    expect(requests).toHaveLength(2)
  })

  it('are renewed five minutes before their end, by one question for all.', async () => {
    let nowMs = Date.now()
    const provider = vi.fn(async () =>
      made(`key${provider.mock.calls.length}`, { expiration: new Date(nowMs + 15 * MINUTE) }),
    )
    const { requests, client } = await open((_, response) => ok(response), {
      credentials: provider,
      nowMs: () => nowMs,
    })
    const several = () => Promise.all([1, 2, 3].map(() => client.send(aGet())))
    await several()
    nowMs += 9 * MINUTE
    await several()
    expect(provider).toHaveBeenCalledTimes(1)
    nowMs += MINUTE
    await several()
    await several()
    expect(provider).toHaveBeenCalledTimes(2)
    expect(requests.map(keyOf).slice(9)).toEqual(['key2', 'key2', 'key2'])
  })

  it('are used to their end while they cannot be renewed, and not a moment longer.', async () => {
    let nowMs = Date.now()
    const expiration = new Date(nowMs + 15 * MINUTE)
    const provider = vi
      .fn(async (): Promise<Credentials> => {
        throw new Error('the metadata service is away')
      })
      .mockResolvedValueOnce(made('key', { expiration }))
    const { requests, client } = await open((_, response) => ok(response), {
      credentials: provider,
      nowMs: () => nowMs,
    })
    await client.send(aGet())
    nowMs += 14 * MINUTE
    await client.send(aGet())
    nowMs += MINUTE
    const error = await errorOf(client.send(aGet()))
    expect(error.message).toBe('Cannot sign requests because the metadata service is away')
    expect(failureOf(error)).toBe('refused')
    expect(requests).toHaveLength(2)
  })

  it('that are still good are used while a provider does not answer.', async () => {
    let nowMs = Date.now()
    const provider = vi
      .fn((): Promise<Credentials> => new Promise(() => {}))
      .mockResolvedValueOnce(made('key', { expiration: new Date(nowMs + 15 * MINUTE) }))
    const { requests, client } = await open((_, response) => ok(response), {
      credentials: provider,
      nowMs: () => nowMs,
    })
    await client.send(aGet())
    nowMs += 14 * MINUTE
    await client.send(aGet())
    await client.send(aGet())
    expect([requests.length, provider.mock.calls.length]).toEqual([3, 2])
  })

  describe('of a provider that does not answer', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })
    const endOfTurns = async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((end) => setImmediate(end))
    }

    it('are not waited for without end: nothing was sent, and the next request asks again.', async () => {
      const provider = vi
        .fn(async () => made('key'))
        .mockImplementationOnce(() => new Promise(() => {}))
      const { requests, client } = await open((_, response) => ok(response), {
        credentials: provider,
      })
      const sending = errorOf(client.send(aGet()))
      await vi.advanceTimersByTimeAsync(10_000)
      const error = await sending
      expect(error.message).toBe('Cannot sign requests because there was no answer within 10000 ms')
      expect([failureOf(error), requests.length]).toEqual(['refused', 0])
      await client.send(aGet())
      expect(requests.map(keyOf)).toEqual(['key'])
    })

    it('are taken when they come late, and not in the place of later ones.', async () => {
      const answers: ((given: Credentials) => void)[] = []
      const provider = vi.fn(() => new Promise<Credentials>((answer) => answers.push(answer)))
      const { requests, client } = await open((_, response) => ok(response), {
        credentials: provider,
      })
      for (let asked = 0; asked < 2; asked += 1) {
        const sending = errorOf(client.send(aGet()))
        await vi.advanceTimersByTimeAsync(10_000)
        await sending
      }
      answers[1]?.(made('key2'))
      await endOfTurns()
      answers[0]?.(made('key1'))
      await endOfTurns()
      await client.send(aGet())
      expect(requests.map(keyOf)).toEqual(['key2'])
      expect(provider).toHaveBeenCalledTimes(2)
    })
  })

  it.each([
    ['throws nothing', () => Promise.reject(undefined), 'the provider threw undefined'],
    ['throws a text', () => Promise.reject('no'), 'the provider threw no'],
    ['gives nothing', async () => undefined, 'gave no `accessKeyId` and `secretAccessKey`'],
    ['gives no keys', async () => ({}), 'gave no `accessKeyId` and `secretAccessKey`'],
    [
      'gives an empty secret',
      async () => made('key', { secretAccessKey: '' }),
      'gave no `accessKeyId` and `secretAccessKey`',
    ],
    [
      'gives an end that is a text',
      async () => ({ ...made('key'), expiration: '2026-01-01' }),
      'an `expiration` that is no Date',
    ],
  ])('of a provider that %s are none: nothing was sent.', async (_, provider, why) => {
    const { requests, client } = await open((_request, response) => ok(response), {
      credentials: provider as never,
    })
    const error = await errorOf(client.send(aGet()))
    expect(error.message).toContain(why)
    expect([error.name, failureOf(error)]).toEqual(['CredentialsProviderError', 'refused'])
    expect(requests).toEqual([])
  })

  it('without a session token may have an empty one, as with the SDK.', async () => {
    const { requests, client } = await open((_, response) => ok(response), {
      credentials: made('key', { sessionToken: '' }),
    })
    await client.send(aGet())
    expect(requests[0]?.headers).not.toHaveProperty('x-amz-security-token')
  })

  describe('of the environment', () => {
    it('are what a client has that is given none, with their session token.', async () => {
      setEnvironment({
        AWS_ACCESS_KEY_ID: 'its key',
        AWS_SECRET_ACCESS_KEY: 'its secret',
        AWS_SESSION_TOKEN: 'its token',
      })
      const { requests, client } = await open((_, response) => ok(response), {
        credentials: undefined,
      })
      await client.send(aGet())
      const [request] = requests as [IncomingMessage]
      expect(keyOf(request)).toBe('its key')
      expect(request.headers['x-amz-security-token']).toBe('its token')
      expect(request.headers.authorization).toContain(';x-amz-security-token;')
    })

    it.each([
      ['', '', 'no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY; outside of Lambda'],
      ['its key', '', 'no AWS_SECRET_ACCESS_KEY; outside of Lambda'],
      ['', 'its secret', 'no AWS_ACCESS_KEY_ID; outside of Lambda'],
    ])('are missed by name, and nothing is sent: "%s", "%s".', async (key, secret, why) => {
      setEnvironment({ AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: secret })
      const { requests, client } = await open((_, response) => ok(response), {
        credentials: undefined,
      })
      const error = await errorOf(client.send(aGet()))
      expect(error.message).toContain(`Cannot sign requests because the environment has ${why}`)
      expect([failureOf(error), requests.length]).toEqual(['refused', 0])
    })

    it('come with a region, without which there is no client.', () => {
      setEnvironment({ AWS_REGION: '' })
      expect(() => createLeanDynamodb()).toThrow('neither `region` nor AWS_REGION is set')
    })
  })
})

describe('A request that cannot be made', () => {
  it.each<[string, object, object]>([
    ['of a value that cannot be stored', { pk: () => {} }, {}],
    ['at a time that is none', key, { nowMs: () => Number.NaN }],
  ])('%s was not sent, and the engine knows.', async (_, Key, options) => {
    const { requests, dynamo, client } = await open((_request, response) => ok(response), options)
    const error = await errorOf(client.send(new GetCommand({ TableName: 'table', Key }) as never))
    expect([error.name, failureOf(error)]).toEqual(['RequestNotMadeError', 'refused'])
    expect(await errorOf(dynamo.update(Key as never, update))).toHaveProperty('name', error.name)
    expect(requests).toEqual([])
  })
})

it('A client that is destroyed closes its connections.', () => {
  const requestHandler = { ...createRequestHandler(), destroy: vi.fn() }
  createLeanDynamodb({ region: 'us-east-1', requestHandler }).destroy()
  expect(requestHandler.destroy).toHaveBeenCalledOnce()
})

const row = { Item: { pk: { S: 'p' }, n: { N: '1' } } }
const whole = JSON.stringify(row)
const update = { UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': 1 } }

/** None of them says whether the request was carried out. */
const spoilt: readonly [string, (response: ServerResponse) => void][] = [
  ['whose checksum is another', (r) => say(r, 200, whole, { 'x-amz-crc32': crc32('other') })],
  ['whose checksum is no number', (r) => say(r, 200, whole, { 'x-amz-crc32': 'x' })],
  [
    'that is an error with another checksum',
    (r) => say(r, 400, { __type: 'x#ValidationException' }, { 'x-amz-crc32': '1' }),
  ],
  [
    'that breaks off',
    (r) => {
      r.writeHead(200, { 'content-length': whole.length }).write(whole.slice(0, 9))
      setImmediate(() => r.destroy())
    },
  ],
  ['that is half of one', (r) => say(r, 200, whole.slice(0, 9))],
  ['that is empty', (r) => say(r, 200, '')],
  ['that is no object', (r) => say(r, 200, '[]')],
  ['of a gateway between', (r) => say(r, 502, '<html>Bad Gateway</html>')],
  ['of a store that failed', (r) => say(r, 500, { __type: 'x#InternalServerError' })],
  ['of a store that is away', (r) => say(r, 503, { __type: 'x#ServiceUnavailable' })],
  ['that leads elsewhere', (r) => say(r, 307, '{}', { location: 'http://elsewhere/' })],
]

describe('An answer', () => {
  it.each(spoilt)('%s leaves a write unknown.', async (_, answer) => {
    const { requests, dynamo } = await open((_, response) => answer(response))
    expect((await dynamo.update(key, update)).kind).toBe('unknown')
    expect(requests).toHaveLength(1)
  })

  it.each(spoilt)('%s is asked for again by a read.', async (_, answer) => {
    const { dynamo } = await open((_, response, count) =>
      count < 3 ? answer(response) : say(response, 200, whole, { 'x-amz-crc32': crc32(whole) }),
    )
    expect(await dynamo.get(key, true)).toEqual({ pk: 'p', n: 1 })
  })

  it.each([
    ['of a gateway that refuses', 403, '<html>Forbidden</html>'],
    ['without a name', 400, '{}'],
    ['that is wrong', 400, '{"__type":"com.amazon.coral.validate#ValidationException"}'],
  ])('%s is a refusal: nothing was carried out.', async (_, status, body) => {
    const { requests, dynamo } = await open((_, response) => say(response, status, body))
    const error = await errorOf(dynamo.update(key, update))
    expect(failureOf(error)).toBe('refused')
    expect(requests).toHaveLength(1)
  })

  it.each([
    'ProvisionedThroughputExceededException',
    'ThrottlingException',
    'Throttling',
    'RequestLimitExceeded',
    'TransactionConflictException',
  ])('%s is a request to come again, and the engine does.', async (name) => {
    const { requests, dynamo } = await open((_, response, count) =>
      count < 3
        ? say(
            response,
            400,
            { __type: `com.amazonaws.dynamodb.v20120810#${name}` },
            { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/` },
          )
        : ok(response),
    )
    expect((await dynamo.update(key, update)).kind).toBe('done')
    expect(requests).toHaveLength(3)
  })

  it('that names its error in the header alone is understood.', async () => {
    const { dynamo } = await open((_, response, count) =>
      count < 2
        ? say(response, 400, '{}', { 'x-amzn-errortype': 'ThrottlingException:http://x/' })
        : ok(response),
    )
    expect((await dynamo.update(key, update)).kind).toBe('done')
  })

  it('to a refused condition hands over the row.', async () => {
    const { dynamo } = await open((_, response) =>
      say(response, 400, { __type: 'x#ConditionalCheckFailedException', ...row }),
    )
    expect(await dynamo.update(key, update)).toEqual({ kind: 'failed', row: { pk: 'p', n: 1 } })
  })
})
