import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RowExpiry } from '../../../local/start-event-sources.ts'
import { findDynoxide } from '../../../local/stores/dynoxide-binary.ts'
import { type EmbeddedDynamodb, startDynoxide } from '../../../local/stores/embedded.ts'
import { type DynamodbApi, dynamodbApi } from '../../../local/stores/store-api.ts'
import { until } from '../a-stack.ts'

const binary = findDynoxide(process)
const table = {
  logicalId: 'Table',
  name: 'orders',
  timeToLiveAttribute: 'ttl',
  hasStream: false,
  definition: {
    TableName: 'orders',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
  },
}

describe.skipIf(!binary)('rows whose time is over', () => {
  let server: EmbeddedDynamodb
  let dynamodb: DynamodbApi
  beforeEach(async () => {
    server = await startDynoxide(binary ?? '')
    dynamodb = dynamodbApi(server.endpoint)
    await dynamodb('CreateTable', table.definition)
  })
  afterEach(() => server.stop())

  const put = (pk: string, more: object) =>
    dynamodb('PutItem', { TableName: 'orders', Item: { pk: { S: pk }, ...more } })

  async function keys(): Promise<string[]> {
    const { Items } = await dynamodb('Scan', { TableName: 'orders' })
    return (Items as { pk: { S: string } }[]).map(({ pk }) => pk.S).sort()
  }

  test('go, on every page; all others stay', async () => {
    const nowMs = () => 1_000_000
    for (let n = 0; n < 250; n++) await put(`over-${n}`, { ttl: { N: '999' } })
    await put('later', { ttl: { N: '1001' } })
    await put('never', {})
    await put('text', { ttl: { S: '999' } })
    const problems: string[] = []
    const expiry = new RowExpiry({
      dynamodb,
      tables: [table],
      nowMs,
      everyMs: 1,
      onProblem: (sentence) => problems.push(sentence),
    })
    expiry.start()
    await until(async () => (await keys()).length === 3)
    await expiry.stop()
    expect(await keys()).toEqual(['later', 'never', 'text'])
    expect(problems).toEqual([])
  })

  test('that are given more time at the last moment stay', async () => {
    await put('order', { ttl: { N: '999' } })
    let swept = () => {}
    const done = new Promise<void>((resolve) => {
      swept = resolve
    })
    const late: DynamodbApi = async (operation, input) => {
      if (operation !== 'DeleteItem') return dynamodb(operation, input)
      await put('order', { ttl: { N: '2000' } })
      return dynamodb(operation, input).finally(swept)
    }
    const expiry = new RowExpiry({
      dynamodb: late,
      tables: [table],
      nowMs: () => 1_000_000,
      everyMs: 1,
      onProblem() {},
    })
    expiry.start()
    await done
    await expiry.stop()
    expect(await keys()).toEqual(['order'])
  })
})
