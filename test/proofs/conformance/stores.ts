import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteObjectsCommand, S3Client } from '@aws-sdk/client-s3'
import { BatchWriteCommand, DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { createLeanDynamodb, type LeanDynamodb } from '../../../aws/lean-client.ts'
import { credentialsOf } from '../../../local/stores/store-api.ts'
import { REGION } from '../../../local/template/identities.ts'
import { type Embedded, startQueues } from '../../../testing/index.ts'
import {
  createSimulatedClient,
  type DocumentSender,
  type Network,
  type ObjectSender,
  perfectNetwork,
} from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'

/** The stores that have to agree: all run the same cases through the same commands. */

/** Those named lean are reached by the lean client, and the others by the SDK's. */
export type StoreName =
  | 'simulated'
  | 'embedded'
  | 'embedded, lean'
  | 'elsewhere'
  | 'elsewhere, lean'
  | 'aws'
  | 'aws, lean'

export interface OpenStore {
  readonly dynamodb: DocumentSender
  readonly s3: ObjectSender
  readonly table: string
  readonly bucket: string
  /** Deletes the rows and objects of a case from a store that outlives the tests. */
  clean(partitionKeys: Iterable<string>, objectKeys: Iterable<string>): Promise<void>
  close(): Promise<void>
}

/** `npm run conformance` names others than the gate's. */
const others = process.env.PUSHPOP_CONFORMANCE_STORES as 'elsewhere' | 'aws' | undefined

export const storeNames: readonly StoreName[] =
  others === undefined ? ['simulated', 'embedded', 'embedded, lean'] : [others, `${others}, lean`]

/** The one with which the simulated store is compared. */
export const realStore: StoreName = others ?? 'embedded'

export function openStore(name: StoreName): Promise<OpenStore> {
  switch (name) {
    case 'simulated':
      return Promise.resolve(openSimulated(perfectNetwork))
    case 'embedded':
    case 'elsewhere':
      return openEmbedded(({ dynamodb }) => documentClient(dynamodb))
    case 'embedded, lean':
    case 'elsewhere, lean':
      return openEmbedded(leanClient)
    case 'aws':
      return Promise.resolve(openAws(documentClient))
    case 'aws, lean':
      return Promise.resolve(openAws(() => leanSender(createLeanDynamodb())))
  }
}

const nothing = async () => {}

export function openSimulated(network: Network): OpenStore {
  const store = new SimulatedStore()
  const { dynamodb, s3 } = createSimulatedClient(store, network)
  const { tableName: table, bucketName: bucket } = store
  return { dynamodb, s3, table, bucket, clean: nothing, close: nothing }
}

async function openEmbedded(clientOf: (store: Embedded) => DocumentSender): Promise<OpenStore> {
  const embedded = await startQueues()
  const { tableName: table, bucketName: bucket } = embedded
  const dynamodb = clientOf(embedded)
  return { dynamodb, s3: embedded.s3, table, bucket, clean: nothing, close: () => embedded.stop() }
}

const leanClient = (embedded: Embedded): DocumentSender =>
  leanSender(
    createLeanDynamodb({
      region: REGION,
      credentials: credentialsOf(embedded),
      endpoint: embedded.dynamodbEndpoint,
    }),
  )

/** What it refuses to write has a name, by which the engine knows that nothing was sent; the SDK's has none. */
const leanSender = (client: LeanDynamodb): DocumentSender => {
  const send = (command: { readonly input: object }) =>
    client.send(command).catch((error: Error) => {
      throw error.name === 'RequestNotMadeError' ? error.cause : error
    })
  return { send, destroy: () => client.destroy() } as unknown as DocumentSender
}

function documentClient(client: DynamoDBClient): DocumentSender {
  return DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: false },
  })
}

function openAws(clientOf: (client: DynamoDBClient) => DocumentSender): OpenStore {
  const { PUSHPOP_TABLE: table, PUSHPOP_BUCKET: bucket } = process.env
  if (table === undefined || bucket === undefined) {
    throw new Error('Cannot test AWS because PUSHPOP_TABLE or PUSHPOP_BUCKET is not set')
  }
  const client = new DynamoDBClient({})
  const s3 = new S3Client({})
  const dynamodb = clientOf(client)
  return {
    dynamodb,
    s3,
    table,
    bucket,
    async clean(partitionKeys, objectKeys) {
      await deleteRows(dynamodb, table, partitionKeys)
      await deleteObjects(s3, bucket, objectKeys)
    },
    async close() {
      client.destroy()
      s3.destroy()
    },
  }
}

async function deleteRows(
  dynamodb: DocumentSender,
  table: string,
  partitionKeys: Iterable<string>,
): Promise<void> {
  for (const pk of partitionKeys) {
    const { Items = [] } = await dynamodb.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ProjectionExpression: 'pk, sk',
        ConsistentRead: true,
      }),
    )
    for (let at = 0; at < Items.length; at += 25) {
      const requests = Items.slice(at, at + 25).map((Key) => ({ DeleteRequest: { Key } }))
      await dynamodb.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }))
    }
  }
}

async function deleteObjects(
  s3: ObjectSender,
  bucket: string,
  objectKeys: Iterable<string>,
): Promise<void> {
  const Objects = [...objectKeys].map((Key) => ({ Key }))
  if (Objects.length === 0) return
  await s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
}
