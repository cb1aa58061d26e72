// A stack on a DynamoDB and an S3 that somebody else has started, and that go on when it ends.

import { createServer, request as send } from 'node:http'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, ListBucketsCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type Embedded, startEmbedded } from '../../testing/index.ts'
import { startServer } from '../aws/network/a-server.ts'
import { makeWorkplace, putItem, type Workplace } from './a-stack.ts'
import type { Shop } from './an-assembly.ts'

let theirs: Embedded
let workplace: Workplace
beforeAll(async () => {
  theirs = await startEmbedded({ environment: {} })
})
afterAll(() => theirs.stop())
beforeEach(() => {
  workplace = makeWorkplace()
})
afterEach(() => workplace.cleanUp())

const shop: Shop = { functions: { Hello: { code: 'export const handler = async () => ({})' } } }
const elsewhere = () => ({
  PUSHPOP_DYNAMODB_ENDPOINT: theirs.dynamodbEndpoint,
  PUSHPOP_S3_ENDPOINT: theirs.s3Endpoint,
})

async function whatIsThere() {
  const { TableNames } = await theirs.dynamodb.send(new ListTablesCommand({}))
  const { Buckets = [] } = await theirs.s3.send(new ListBucketsCommand({}))
  return [TableNames, Buckets.map(({ Name }) => Name)]
}

it('Without a folder, the end deletes what the start made there, with what is in it.', async () => {
  const stack = await workplace.start(shop, { environment: elsewhere(), directory: undefined })
  expect(stack).toMatchObject({
    dynamodbEndpoint: theirs.dynamodbEndpoint,
    s3Endpoint: theirs.s3Endpoint,
  })
  const [tables, [Bucket] = []] = await whatIsThere()
  expect(tables).toEqual(['Shop-Table'])
  await putItem(stack, 'a')
  await theirs.s3.send(new PutObjectCommand({ Bucket, Key: 'a/b', Body: 'c' }))
  await stack.stop()
  expect(await whatIsThere()).toEqual([[], []])
})

it('With a folder, tables and objects stay; without one, no start forgets only half of them.', async () => {
  const first = await workplace.start(shop, { environment: elsewhere() })
  await putItem(first, 'a')
  const [, [Bucket] = []] = await whatIsThere()
  await theirs.s3.send(new PutObjectCommand({ Bucket, Key: 'a/b', Body: 'c' }))
  await first.stop()
  const forgetting = { environment: elsewhere(), directory: undefined }
  await expect(workplace.start(shop, forgetting)).rejects.toThrow(
    `Cannot forget the data at the end because the DynamoDB at ${theirs.dynamodbEndpoint} has the table Shop-Table`,
  )
  await (await workplace.start(shop, { environment: elsewhere() })).stop()
  const { Body } = await theirs.s3.send(new GetObjectCommand({ Bucket, Key: 'a/b' }))
  expect(await Body?.transformToString()).toBe('c')
  expect(await whatIsThere()).toEqual([['Shop-Table'], [Bucket]])
})

it('Requests for tables and buckets are signed by the environment’s key.', async () => {
  const asked: string[] = []
  const { port, hostname } = new URL(theirs.dynamodbEndpoint)
  const server = await startServer(
    createServer((request, response) => {
      const { authorization = '', 'x-amz-target': target } = request.headers
      const [, key, service] = /Credential=(\w+)\/\d+\/[\w-]+\/(\w+)\//.exec(authorization) ?? []
      const { method, url, headers } = request
      asked.push(`${method} ${service} by ${key}`)
      if (target === undefined) {
        response.statusCode = method === 'HEAD' ? 404 : 200
        return void request.resume().on('end', () => response.end())
      }
      const onward = send({ hostname, port, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      request.pipe(onward)
    }),
  )
  onTestFinished(() => server.close())
  const endpoint = `http://127.0.0.1:${server.port}`
  const stack = await workplace.start(shop, {
    environment: {
      PUSHPOP_DYNAMODB_ENDPOINT: endpoint,
      PUSHPOP_S3_ENDPOINT: endpoint,
      AWS_ACCESS_KEY_ID: 'THEIRS',
      AWS_SECRET_ACCESS_KEY: 'of them',
    },
  })
  await stack.stop()
  expect(new Set(asked)).toEqual(
    new Set(['POST dynamodb by THEIRS', 'HEAD s3 by THEIRS', 'PUT s3 by THEIRS']),
  )
})
