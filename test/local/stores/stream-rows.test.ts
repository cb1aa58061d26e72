import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findDynoxide } from '../../../local/stores/dynoxide-binary.ts'
import { type EmbeddedDynamodb, StreamRows, startDynoxide } from '../../../local/stores/embedded.ts'
import { dynamodbApi } from '../../../local/stores/store-api.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const binary = findDynoxide(process)

describe.skipIf(!binary)("dynoxide's rows of a stream", () => {
  let directory: string
  let file: string
  let dynamodb: EmbeddedDynamodb
  let rows: StreamRows
  beforeEach(async () => {
    directory = temporaryFolder()
    file = join(directory, 'dynamodb.sqlite')
    dynamodb = await startDynoxide(binary ?? '', file)
    for (const name of ['orders', 'others']) {
      await dynamodbApi(dynamodb.endpoint)('CreateTable', {
        TableName: name,
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        BillingMode: 'PAY_PER_REQUEST',
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
      })
    }
    rows = new StreamRows(file)
    rows.addIndex()
  })
  afterEach(async () => {
    rows.close()
    await dynamodb.stop()
  })

  const put = (table: string, n: number) =>
    dynamodbApi(dynamodb.endpoint)('PutItem', {
      TableName: table,
      Item: { pk: { S: `item-${n}` } },
    })

  function sequenceNumbers(table: string): number[] {
    const database = new DatabaseSync(file, { readOnly: true })
    const found = database
      .prepare('SELECT sequence_number AS n FROM _stream_records WHERE table_name = ? ORDER BY id')
      .all(table)
    database.close()
    return found.map(({ n }) => Number(n))
  }

  test('are found by an index, which may be asked for twice', () => {
    rows.addIndex()
    const database = new DatabaseSync(file, { readOnly: true })
    const plan = database
      .prepare(
        "EXPLAIN QUERY PLAN SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = 'orders'",
      )
      .all()
    database.close()
    expect(JSON.stringify(plan)).toContain('pushpop_stream')
  })

  test('are deleted up to a number, of one table, by number and not by spelling', async () => {
    for (let n = 1; n <= 12; n++) await put('orders', n)
    await put('others', 1)
    expect(rows.trim('orders', '10')).toBe(10)
    expect(sequenceNumbers('orders')).toEqual([11, 12])
    expect(sequenceNumbers('others')).toHaveLength(1)
  })

  test('keep their newest, so that numbering goes on', async () => {
    for (let n = 1; n <= 3; n++) await put('orders', n)
    rows.trim('orders', '99')
    expect(sequenceNumbers('orders')).toEqual([3])
    await put('orders', 4)
    expect(sequenceNumbers('orders')).toEqual([3, 4])
  })

  test('stay for the next trim while DynamoDB writes: that ends nothing', async () => {
    for (let n = 1; n <= 5; n++) await put('orders', n)
    const writer = new DatabaseSync(file)
    writer.exec('BEGIN IMMEDIATE')
    expect(rows.trim('orders', '4')).toBe(0)
    writer.exec('COMMIT')
    writer.close()
    expect(rows.trim('orders', '4')).toBe(4)
  })
})
