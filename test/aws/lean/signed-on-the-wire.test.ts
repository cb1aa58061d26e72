// What arrives is signed for where it arrives. Our local store takes any signature, so this test alone sees that
// the client hands its signer the region, host, path and keys that it was given.

import { createServer } from 'node:http'
import { GetCommand } from '@aws-sdk/lib-dynamodb'
import { SignatureV4 } from '@smithy/signature-v4'
import { expect, it, onTestFinished } from 'vitest'
import { createRequestHandler } from '../../../aws/connections.ts'
import { createLeanDynamodb } from '../../../aws/lean-client.ts'
import { setEnvironment } from '../../support/environment.ts'
import { startServer } from '../network/a-server.ts'
import { Sha256 } from './sha256.ts'

type Arrived = { url: string; headers: Record<string, string>; body: string }
type Keys = { accessKeyId: string; secretAccessKey: string; sessionToken?: string }

/** What the SDK would have written in the place of its signature. */
async function expected({ url, headers, body }: Arrived, region: string, credentials: Keys) {
  const { host = '', 'x-amz-target': target = '', 'content-type': type = '' } = headers
  const iso = String(headers['x-amz-date']).replace(/(....)(..)(..T..)(..)(..)Z/, '$1-$2-$3:$4:$5Z')
  const { headers: signed } = await new SignatureV4({
    service: 'dynamodb',
    region,
    credentials,
    sha256: Sha256 as never,
    applyChecksum: false,
  }).sign(
    {
      method: 'POST',
      protocol: 'http:',
      hostname: 'x',
      path: url,
      query: {},
      headers: { host, 'x-amz-target': target, 'content-type': type },
      body,
    },
    { signingDate: new Date(iso) },
  )
  return signed.authorization
}

async function aServer() {
  const arrived: Arrived[] = []
  const server = await startServer(
    createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        arrived.push({ url: String(request.url), headers: request.headers as never, body })
        response.end('{}')
      })
    }),
  )
  onTestFinished(() => server.close())
  return { arrived, port: server.port }
}

const aGet = () => new GetCommand({ TableName: 'table', Key: { pk: 'ü', sk: 's' } }) as never

it.each([
  ['us-east-1', ''],
  ['eu-central-1', '/'],
  ['cn-north-1', '/a/b'],
  ['eu-central-1', '/a%20b/'],
  ['eu-central-1', "/a(1)!*'/"],
  ['eu-central-1', '/a//b/'],
])(
  'A request to %s at "%s" arrives with the signature that the SDK makes.',
  async (region, path) => {
    const { arrived, port } = await aServer()
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret', sessionToken: 'token' }
    const client = createLeanDynamodb({
      region,
      credentials,
      endpoint: `http://127.0.0.1:${port}${path}`,
    })
    onTestFinished(() => client.destroy())
    await client.send(aGet())
    const [one] = arrived as [Arrived]
    expect(one.url).toBe(path.endsWith('/') ? path : `${path}/`)
    expect(one.headers.authorization).toBe(await expected(one, region, credentials))
  },
)

it('A function signs with what its environment says, and sends to its region.', async () => {
  const { arrived, port } = await aServer()
  setEnvironment({
    // The tests' own store has one.
    AWS_ENDPOINT_URL_DYNAMODB: undefined,
    AWS_ENDPOINT_URL: undefined,
    AWS_REGION: 'ap-south-1',
    AWS_ACCESS_KEY_ID: 'its key',
    AWS_SECRET_ACCESS_KEY: 'its secret',
    AWS_SESSION_TOKEN: 'its token',
  })
  const inner = createRequestHandler()
  const hosts: string[] = []
  const client = createLeanDynamodb({
    requestHandler: {
      ...inner,
      handle(request: { hostname: string }) {
        hosts.push(request.hostname)
        return inner.handle({ ...request, protocol: 'http:', hostname: '127.0.0.1', port } as never)
      },
    } as never,
  })
  onTestFinished(() => client.destroy())
  await client.send(aGet())
  const [one] = arrived as [Arrived]
  expect([hosts, one.headers.host]).toEqual([
    ['dynamodb.ap-south-1.amazonaws.com'],
    'dynamodb.ap-south-1.amazonaws.com',
  ])
  expect(one.headers.authorization).toBe(
    await expected(one, 'ap-south-1', {
      accessKeyId: 'its key',
      secretAccessKey: 'its secret',
      sessionToken: 'its token',
    }),
  )
})
