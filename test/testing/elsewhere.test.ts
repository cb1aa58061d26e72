// `pushpop/testing` on a DynamoDB and an S3 that somebody else has started: test files share them.

import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Embedded, startEmbedded, startQueues } from '../../testing/index.ts'
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
