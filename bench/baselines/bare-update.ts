// The limit: one `UpdateItem` on one item, as large as an entry of the queue, on a condition that
// always holds. The list is replaced rather than appended to, so that the item keeps its size and
// each write is one unit: no queue that keeps its order in one item can do with less.

import { PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { Store } from '../bench.ts'

export async function createBareItem(store: Store, name: string): Promise<void> {
  const { tableName: TableName } = store
  await store.dynamodb.send(
    new PutCommand({ TableName, Item: { pk: `bare#${name}`, sk: 'item', writes: 0, tail: [] } }),
  )
}

export async function bareUpdate(store: Store, name: string, text: string): Promise<void> {
  await store.dynamodb.send(
    new UpdateCommand({
      TableName: store.tableName,
      Key: { pk: `bare#${name}`, sk: 'item' },
      UpdateExpression: 'SET #tail = :entries ADD #writes :one',
      ConditionExpression: 'attribute_exists(#writes)',
      ExpressionAttributeNames: { '#tail': 'tail', '#writes': 'writes' },
      ExpressionAttributeValues: { ':entries': [text], ':one': 1 },
      ReturnValues: 'UPDATED_NEW',
    }),
  )
}
