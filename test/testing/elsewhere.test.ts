// `pushpop/testing` on a DynamoDB and an S3 that somebody else has started: test files share them.

import { createServer } from 'node:http'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { HeadBucketCommand, ListBucketsCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type Embedded, startEmbedded, startQueues } from '../../testing/index.ts'
import { startServer } from '../aws/network/a-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let stores: Embedded
beforeAll(async () => {
  stores = await startEmbedded()
})
afterAll(() => stores.stop())

const elsewhere = () => ({
  PUSHPOP_DYNAMODB_ENDPOINT: stores.dynamodbEndpoint,
  PUSHPOP_S3_ENDPOINT: stores.s3Endpoint,
})

it('Two tests have queues of their own there, side by side and one after the other.', async () => {
  const [one, other] = await Promise.all([
    startQueues({ environment: elsewhere() }),
    startQueues({ environment: elsewhere() }),
  ])
  const [queue, sameName] = [one.newQueue(), other.newQueue()]
  await one.queues.push(queue, { items: [{ text: '1' }] })
  expect((await other.queues.inspect(sameName)).count).toBe(0)
  await Promise.all([one.stop(), other.stop()])
  const later = await startQueues({ environment: elsewhere() })
  expect((await later.queues.inspect(later.newQueue())).count).toBe(0)
  await later.stop()
  expect((await stores.dynamodb.send(new ListTablesCommand({}))).TableNames).toEqual([])
  expect((await stores.s3.send(new ListBucketsCommand({}))).Buckets).toEqual([])
})

it('A folder keeps the queues of an earlier start.', async () => {
  const directory = temporaryFolder()
  const first = await startQueues({ directory, environment: {} })
  await first.queues.push('orders', { items: [{ text: '1' }] })
  await first.stop()
  const second = await startQueues({ directory, environment: {} })
  expect((await second.queues.inspect('orders')).count).toBe(1)
  await second.stop()
})

it('The environment’s key opens an S3 of somebody else, and the DynamoDB beside it; the embedded stores have their own.', async () => {
  const keys: (string | undefined)[] = []
  const server = await startServer(
    createServer((request, response) => {
      keys.push(/Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1])
      request.resume().on('end', () => response.end('{}'))
    }),
  )
  onTestFinished(() => server.close())
  const endpoint = `http://127.0.0.1:${server.port}`
  const key = { AWS_ACCESS_KEY_ID: 'THEIRS', AWS_SECRET_ACCESS_KEY: 'of them' }
  const both = { PUSHPOP_DYNAMODB_ENDPOINT: endpoint, PUSHPOP_S3_ENDPOINT: endpoint }
  for (const environment of [
    { ...key, ...both },
    { ...key, PUSHPOP_DYNAMODB_ENDPOINT: endpoint },
  ]) {
    const embedded = await startEmbedded({ environment })
    onTestFinished(() => embedded.stop())
    await embedded.dynamodb.send(new ListTablesCommand({}))
    // The embedded one has no such bucket.
    await embedded.s3.send(new HeadBucketCommand({ Bucket: 'any' })).catch(() => {})
  }
  expect(keys).toEqual(['THEIRS', 'THEIRS', 'S3RVER'])
})
