// Clients that the library's user made, with the SDK's own request handler, which has no deadline.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createRequestHandler } from '../../aws/connections.ts'
import { Dynamo } from '../../aws/dynamo.ts'
import { Objects } from '../../aws/objects.ts'
import { type Embedded, startEmbedded } from '../../testing/index.ts'
import { type NetworkProxy, startNetworkProxy } from '../support/network-proxy.ts'

const ANSWER_TIMEOUT_MS = 100
/** Nobody else would ever end it. */
const ABANDONED = { timeout: 15_000 }
const Bucket = 'deadline'
const clock = { nowMs: Date.now, sleep: async () => {} }
const update = { UpdateExpression: 'SET a=:a', ExpressionAttributeValues: { ':a': 1 } }
const key = { pk: 'a', sk: 'b' }

let embedded: Embedded
let toDynamodb: NetworkProxy
let toS3: NetworkProxy
let dynamodb: DynamoDBClient
let s3: S3Client
beforeAll(async () => {
  // What is tested is our end of the wire.
  embedded = await startEmbedded({ environment: {} })
  await Promise.all([embedded.createTable('deadline'), embedded.createBucket(Bucket)])
  await embedded.s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x'.repeat(100_000) }))
  toDynamodb = await startNetworkProxy(embedded.dynamodbEndpoint)
  toS3 = await startNetworkProxy(embedded.s3Endpoint)
  const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
  const common = { region: 'us-east-1', credentials }
  dynamodb = new DynamoDBClient({ ...common, endpoint: toDynamodb.endpoint })
  s3 = new S3Client({ ...common, endpoint: toS3.endpoint, forcePathStyle: true })
})
afterAll(async () => {
  dynamodb.destroy()
  s3.destroy()
  await toDynamodb.close()
  await toS3.close()
  await embedded.stop()
})

const dynamoOn = (client: ConstructorParameters<typeof Dynamo>[0]) =>
  new Dynamo(client, 'deadline', clock, Math.random, ANSWER_TIMEOUT_MS)
const objectsOn = (source: ConstructorParameters<typeof Objects>[0]) =>
  new Objects(source, Bucket, clock, Math.random, () => {}, ANSWER_TIMEOUT_MS)

/** Connections on which an answer stalled are closed, not kept. */
const untilClosed = (proxy: NetworkProxy) =>
  vi.waitUntil(() => proxy.open === 0, { interval: 5, timeout: 15_000 })

describe('An answer that stalls in the middle of its body', () => {
  beforeAll(() => {
    // In the middle of the first row, and far into the object: its headers are there.
    toDynamodb.stallAfter(200)
    toS3.stallAfter(50_000)
  })

  it('leaves a write unknown.', async () => {
    for (const client of [dynamodb, DynamoDBDocumentClient.from(dynamodb)]) {
      const written = await dynamoOn(client as DynamoDBClient).update(key, update)
      expect(written).toMatchObject({ kind: 'unknown', cause: { code: 'ETIMEDOUT' } })
    }
    await untilClosed(toDynamodb)
  })

  it('is not waited for by a read, which is asked again, and given up.', async () => {
    const before = toDynamodb.made
    await expect(dynamoOn(dynamodb).get(key, true)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    expect(toDynamodb.made - before).toBe(4)
    await untilClosed(toDynamodb)
  })

  it('is not waited for if it brings an object.', async () => {
    for (const source of [s3, async () => s3]) {
      await expect(objectsOn(source).get('k')).rejects.toMatchObject({
        code: 'SEGMENT_UNAVAILABLE',
      })
    }
    await untilClosed(toS3)
  })
})

describe('The wait is given up', () => {
  it(
    'also where a request handler does not care that its request is aborted.',
    ABANDONED,
    async () => {
      const requestHandler = { handle: () => new Promise<never>(() => {}) }
      const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }
      const client = new DynamoDBClient({ region: 'us-east-1', credentials, requestHandler })
      expect(await dynamoOn(client).update(key, update)).toMatchObject({ kind: 'unknown' })
    },
  )
})

describe('Nothing is bounded, and no timer set,', () => {
  it.each([
    ['in a simulation', {}],
    [
      'where our own handler does it',
      { config: { requestHandler: createRequestHandler(), translateConfig: {} } },
    ],
  ])('%s.', async (_, more) => {
    const send = vi.fn(async (..._: unknown[]) => ({}))
    const port = { ...more, send }
    await dynamoOn(port).get(key, true)
    await objectsOn(port).get('k')
    expect(send).toHaveBeenCalledTimes(2)
    for (const [, options] of send.mock.calls) expect(options).toBeUndefined()
  })
})
