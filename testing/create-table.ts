import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { type TableKey, tableDefinition } from '../aws/table.ts'

function createTableInput(name: string): CreateTableCommandInput {
  const { partitionKey, sortKey, indexes } = tableDefinition
  const keys = [partitionKey, sortKey, ...indexes.flatMap((i) => [i.partitionKey, i.sortKey])]
  const typeByName = new Map(keys.map((key) => [key.name, key.type]))
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [...typeByName].map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    KeySchema: keySchema(partitionKey, sortKey),
    GlobalSecondaryIndexes: indexes.map((index) => ({
      IndexName: index.name,
      KeySchema: keySchema(index.partitionKey, index.sortKey),
      Projection: { ProjectionType: 'KEYS_ONLY' },
    })),
  }
}

function keySchema(partitionKey: TableKey, sortKey: TableKey) {
  return [
    { AttributeName: partitionKey.name, KeyType: 'HASH' as const },
    { AttributeName: sortKey.name, KeyType: 'RANGE' as const },
  ]
}

export async function createTable(dynamodb: DynamoDBClient, name: string): Promise<void> {
  await dynamodb.send(new CreateTableCommand(createTableInput(name)))
  await waitUntilTableExists(
    { client: dynamodb, minDelay: 1, maxDelay: 1, maxWaitTime: 30 },
    { TableName: name },
  )
  await enableTimeToLive(dynamodb, name)
}

async function enableTimeToLive(dynamodb: DynamoDBClient, name: string): Promise<void> {
  const specification = { AttributeName: tableDefinition.timeToLiveAttribute, Enabled: true }
  try {
    await dynamodb.send(
      new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification: specification }),
    )
  } catch (error) {
    // Not every emulator supports this, and nothing relies on rows disappearing by themselves.
    if (!(error instanceof Error) || error.name !== 'UnknownOperationException') throw error
  }
}
