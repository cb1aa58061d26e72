// DynamoDB and S3 on this machine, for a test file or a benchmark: the stores, the SDK's clients for them, and a
// table with the keys and indexes that PushPop needs.

import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { createRequestHandler } from '../aws/connections.ts'
import { type TableKey, tableDefinition } from '../aws/table.ts'
import { dynoxideOf, type Platform } from '../local/stores/dynoxide-binary.ts'
import { startHost } from '../local/stores/start-host.ts'
import { credentialsOf, type StoreEndpoints, storesElsewhere } from '../local/stores/store-api.ts'
import { REGION } from '../local/template/identities.ts'

export type { StoreEndpoints }

export type Connections = StoreEndpoints & {
  readonly dynamodb: DynamoDBClient
  readonly s3: S3Client
  createTable(name: string): Promise<void>
  createBucket(name: string): Promise<void>
  /** Closes the clients; the stores go on. */
  disconnect(): void
}

export type Embedded = Connections & { stop(): Promise<void> }

export type EmbeddedOptions = {
  /** Keeps the data there. Without it everything is gone after `stop`. */
  readonly directory?: string | undefined
  /**
   * PUSHPOP_DYNAMODB_ENDPOINT and PUSHPOP_S3_ENDPOINT replace what would be started. AWS_ACCESS_KEY_ID and
   * AWS_SECRET_ACCESS_KEY are for that S3, and then for both.
   */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  readonly platform?: Platform | undefined
}

export async function startEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  const { directory, environment = process.env, platform = process } = options
  const elsewhere = storesElsewhere(environment)
  const dynoxide = elsewhere.dynamodbEndpoint ? undefined : dynoxideOf(platform)

  const needsHost = dynoxide || !elsewhere.s3Endpoint
  const host = needsHost
    ? await startHost({
        dynoxide,
        s3: !elsewhere.s3Endpoint,
        ...(directory ? { directory } : { dynamodbInMemory: true }),
      })
    : undefined
  const connections = connectEmbedded({
    dynamodbEndpoint: elsewhere.dynamodbEndpoint ?? host?.dynamodbEndpoint ?? '',
    s3Endpoint: elsewhere.s3Endpoint ?? host?.s3Endpoint ?? '',
    credentials: elsewhere.credentials,
  })
  return {
    ...connections,
    async stop() {
      connections.disconnect()
      await host?.stop()
    },
  }
}

/** The clients alone, for a process that did not start the stores. */
export function connectEmbedded(endpoints: StoreEndpoints): Connections {
  const { dynamodbEndpoint, s3Endpoint, credentials } = endpoints
  const common = {
    region: REGION,
    credentials: credentialsOf(endpoints),
    // A lost answer has to reach the code under test, not be repeated below it.
    maxAttempts: 1,
  }
  const handler = () =>
    createRequestHandler({
      // A test of contention does not queue in its own client, and no test fails by a busy machine.
      socketsMax: 256,
      connectTimeoutMs: 30_000,
      answerTimeoutMs: 30_000,
    })
  const dynamodb = new DynamoDBClient({
    ...common,
    endpoint: dynamodbEndpoint,
    requestHandler: handler(),
  })
  const s3 = new S3Client({
    ...common,
    endpoint: s3Endpoint,
    requestHandler: handler(),
    forcePathStyle: true,
  })
  return {
    dynamodbEndpoint,
    s3Endpoint,
    credentials,
    dynamodb,
    s3,
    createTable: (name) => createTable(dynamodb, name),
    async createBucket(name) {
      await s3.send(new CreateBucketCommand({ Bucket: name }))
    },
    disconnect() {
      dynamodb.destroy()
      s3.destroy()
    },
  }
}

async function createTable(dynamodb: DynamoDBClient, name: string): Promise<void> {
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
