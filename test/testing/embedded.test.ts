import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  DescribeTableCommand,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { afterEach, describe, expect, test } from 'vitest'
import { CHECK_INDEX, DIRECTORY_INDEX } from '../../aws/table.ts'
import { findDynoxide } from '../../local/stores/dynoxide-binary.ts'
import { connectEmbedded, type Embedded, startEmbedded } from '../../testing/embedded.ts'
import { descendantsOf, hasProc, isAlive } from '../support/processes.ts'

// Its own choice of endpoints: the tests of starting must start something.
const environment = {}
const hasBinary = findDynoxide(process) !== undefined
const row = { pk: { S: 'q#orders' }, sk: { S: 'queue' }, shard: { N: '3' }, checkAt: { N: '17' } }

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(options: { directory?: string } = {}): Promise<Embedded> {
  const embedded = await startEmbedded({ ...options, environment })
  cleanUps.push(() => embedded.stop())
  return embedded
}

async function putAndGetObject({ s3 }: Pick<Embedded, 's3'>, body: string) {
  const object = { Bucket: 'segments', Key: 'orders/e1/0/7' }
  await s3.send(new PutObjectCommand({ ...object, Body: body }))
  return (await s3.send(new GetObjectCommand(object))).Body?.transformToString()
}

describe.skipIf(!hasBinary)('the embedded stores', () => {
  test('a table has the keys and the sparse indexes of the design', async () => {
    const { dynamodb, createTable } = await start()
    await createTable('pushpop')
    const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: 'pushpop' }))
    expect(Table?.KeySchema).toEqual([
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ])
    await dynamodb.send(new PutItemCommand({ TableName: 'pushpop', Item: row }))
    const plain = { pk: { S: 'i#orders#x' }, sk: { S: 'receipt' } }
    await dynamodb.send(new PutItemCommand({ TableName: 'pushpop', Item: plain }))
    const stored = await dynamodb.send(
      new GetItemCommand({ TableName: 'pushpop', Key: { pk: row.pk, sk: row.sk } }),
    )
    expect(stored.Item).toEqual(row)
    const inShard = {
      TableName: 'pushpop',
      KeyConditionExpression: '#shard = :shard',
      ExpressionAttributeNames: { '#shard': 'shard' },
      ExpressionAttributeValues: { ':shard': row.shard },
    }
    const check = await dynamodb.send(new QueryCommand({ ...inShard, IndexName: CHECK_INDEX }))
    expect(check.Items).toEqual([row])
    const directory = await dynamodb.send(
      new QueryCommand({ ...inShard, IndexName: DIRECTORY_INDEX }),
    )
    expect(directory.Items).toEqual([{ pk: row.pk, sk: row.sk, shard: row.shard }])
  })

  test('objects are put, overwritten, read and listed, also from a second client', async () => {
    const { createBucket, dynamodbEndpoint, s3Endpoint, s3 } = await start()
    await createBucket('segments')
    const other = connectEmbedded({ dynamodbEndpoint, s3Endpoint })
    cleanUps.push(async () => other.disconnect())
    expect(await putAndGetObject({ s3 }, 'first')).toBe('first')
    expect(await putAndGetObject(other, 'second')).toBe('second')
    const listed = await s3.send(new ListObjectsV2Command({ Bucket: 'segments' }))
    expect(listed.Contents?.map((object) => object.Key)).toEqual(['orders/e1/0/7'])
  })

  test('a reader beside repeated writes always sees a whole object', async () => {
    const { createBucket, s3 } = await start()
    await createBucket('segments')
    const object = { Bucket: 'segments', Key: 'orders/e1/0/7' }
    const body = 'x'.repeat(300_000)
    await s3.send(new PutObjectCommand({ ...object, Body: body }))
    const write = async () => {
      for (let n = 0; n < 20; n++) await s3.send(new PutObjectCommand({ ...object, Body: body }))
    }
    const read = async () => {
      for (let n = 0; n < 20; n++) {
        const answer = await s3.send(new GetObjectCommand(object))
        expect((await answer.Body?.transformToString())?.length).toBe(body.length)
      }
    }
    await Promise.all([write(), read(), read()])
  })

  test('data in a folder survives a stop and a start', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'pushpop-test-'))
    cleanUps.push(() => rm(directory, { recursive: true }))
    const first = await start({ directory })
    await first.createTable('pushpop')
    await first.createBucket('segments')
    await first.dynamodb.send(new PutItemCommand({ TableName: 'pushpop', Item: row }))
    await putAndGetObject(first, 'kept')
    await first.stop()

    const second = await start({ directory })
    const key = { TableName: 'pushpop', Key: { pk: row.pk, sk: row.sk } }
    expect((await second.dynamodb.send(new GetItemCommand(key))).Item).toEqual(row)
    const object = { Bucket: 'segments', Key: 'orders/e1/0/7' }
    const answer = await second.s3.send(new GetObjectCommand(object))
    expect(await answer.Body?.transformToString()).toBe('kept')
  })

  test('several stores side by side have nothing in common', async () => {
    const stores = await Promise.all([start(), start()])
    for (const store of stores) await store.createTable('pushpop')
    expect(new Set(stores.map((store) => store.dynamodbEndpoint)).size).toBe(2)
  })
})

// We read processes from /proc and give each test its own temporary directory, so that we do not count
// the stores of other test files.
describe.skipIf(!hasBinary || !hasProc)('nothing is left behind', () => {
  const cases = [
    { name: 'by a stop', signal: undefined },
    { name: 'by a parent that ends without a stop', signal: 'end' },
    { name: 'by an interrupted parent', signal: 'SIGINT' },
    { name: 'by a terminated parent', signal: 'SIGTERM' },
    { name: 'by a killed parent', signal: 'SIGKILL' },
    { name: 'by a killed host', signal: 'host' },
  ] as const

  test.each(cases)('$name', async ({ signal }) => {
    const temporary = await mkdtemp(join(tmpdir(), 'pushpop-test-'))
    cleanUps.push(() => rm(temporary, { recursive: true }))
    const script = `
      import { startEmbedded } from ${JSON.stringify(join(import.meta.dirname, '../../testing/embedded.ts'))}
      const embedded = await startEmbedded({ environment: {} })
      const forever = setInterval(() => {}, 1000)
      process.stdin.once('data', async (text) => {
        if (String(text) === 'stop') await embedded.stop()
        clearInterval(forever)
        process.stdin.destroy()
      })
      console.log('ready')`
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      env: { PATH: process.env.PATH, TMPDIR: temporary },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    cleanUps.push(async () => parent.kill('SIGKILL'))
    await once(parent.stdout, 'data')
    const started = descendantsOf(parent.pid ?? 0)
    expect(started).toHaveLength(2)
    expect(readdirSync(temporary)).toHaveLength(1)

    if (signal === undefined) parent.stdin.write('stop')
    else if (signal === 'end') parent.stdin.write('end')
    else if (signal === 'host') process.kill(started[0] ?? 0, 'SIGKILL')
    else parent.kill(signal)

    const deadlineMs = Date.now() + 10_000
    const isClean = () => !started.some(isAlive) && readdirSync(temporary).length === 0
    while (!isClean() && Date.now() < deadlineMs) await delay(20)
    expect(started.filter(isAlive)).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  })
})

describe('where DynamoDB comes from', () => {
  test('no binary for the platform is an error that says what to do', async () => {
    const platform = { platform: 'sunos', arch: 'sparc' }
    await expect(startEmbedded({ environment, platform })).rejects.toThrow(
      /no @dynoxide binary is installed for sunos-sparc\. Start DynamoDB Local.*PUSHPOP_DYNAMODB_ENDPOINT/,
    )
  })

  test.each([
    { name: 'where a binary exists', platform: process },
    { name: 'where none does', platform: { platform: 'sunos', arch: 'sparc' } },
  ])('endpoints in the environment win $name', async ({ platform }) => {
    const asked: (string | undefined)[] = []
    const server = createServer((request, response) => {
      asked.push(request.headers['x-amz-target']?.toString())
      response.setHeader('content-type', 'application/x-amz-json-1.0').end('{"TableNames":["far"]}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const embedded = await startEmbedded({
      environment: { PUSHPOP_DYNAMODB_ENDPOINT: endpoint, PUSHPOP_S3_ENDPOINT: endpoint },
      platform,
    })
    cleanUps.push(async () => {
      await embedded.stop()
      server.close()
    })
    expect(embedded).toMatchObject({ dynamodbEndpoint: endpoint, s3Endpoint: endpoint })
    const tables = await embedded.dynamodb.send(new ListTablesCommand({}))
    expect(tables.TableNames).toEqual(['far'])
    expect(asked).toEqual(['DynamoDB_20120810.ListTables'])
  })
})
