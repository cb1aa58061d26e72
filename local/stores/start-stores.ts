// The stores of a local stack, embedded or somebody else's, with the tables, buckets and queues of its template in
// them: made, or compared with those of an earlier start. What was made in somebody else's store to be forgotten is
// deleted at the end.

import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { defaultAttributes } from '../sqs/core/queue-attributes.ts'
import { StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import type { Plan, QueuePlan, TablePlan } from '../template/plan.ts'
import { createBucket, type ForeignS3, foreignS3 } from './buckets.ts'
import { dynoxideOf, type Platform } from './dynoxide-binary.ts'
import { startHost } from './start-host.ts'
import {
  credentialsOf,
  type DynamodbApi,
  DynamodbError,
  dynamodbApi,
  type SqsApi,
  SqsApiError,
  type StoreEndpoints,
  sqsApi,
  storesElsewhere,
} from './store-api.ts'

export type StoresOptions = {
  /** Where to keep the data. Default: a temporary folder, which is removed at the end. */
  readonly directory?: string | undefined
  /**
   * PUSHPOP_DYNAMODB_ENDPOINT and PUSHPOP_S3_ENDPOINT replace the embedded stores. Without a `directory`, the end
   * deletes there what the start has made.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly platform?: Platform | undefined
}

export type Stores = {
  readonly directory: string
  readonly dynamodb: DynamodbApi
  readonly sqs: SqsApi
  readonly endpoints: StoreEndpoints
  /** The DynamoDB is this stack's own. */
  readonly isOwn: boolean
  /** Makes what is missing. */
  make(plan: Plan): Promise<Made>
  /** Deletes the records of a table's stream up to and including the sequence number. */
  trimStream(table: string, sequenceNumber: string): void
  /** Has a process killed when this one ends, however that happens. */
  watch(pid: number): void
  forget(pid: number): void
  /** Resolves if the stores end without being asked to. */
  readonly failed: Promise<Error>
  stop(): Promise<void>
}

type Made = {
  /** The ARN of the stream of each table that has one. */
  readonly streamArns: ReadonlyMap<string, string>
  /** The table existed already, so the stack returns to its data. */
  readonly isRestart: boolean
}

export async function startStores(options: StoresOptions, url: string): Promise<Stores> {
  const { environment = process.env, platform = process } = options
  const elsewhere = storesElsewhere(environment)
  const dynoxide = elsewhere.dynamodbEndpoint ? undefined : dynoxideOf(platform)

  const host = await startHost(
    {
      dynoxide,
      s3: elsewhere.s3Endpoint === undefined,
      sqs: true,
      ...(options.directory && { directory: resolve(options.directory) }),
      owner: { pid: process.pid, url },
    },
    { ownGroup: true },
  )
  const { directory, sqsEndpoint, tell } = host
  const { dynamodbEndpoint = host.dynamodbEndpoint, s3Endpoint = host.s3Endpoint } = elsewhere
  if (!directory || !s3Endpoint || !sqsEndpoint || !dynamodbEndpoint) {
    throw new StartError('Cannot go on because the embedded stores did not say where they are')
  }
  const { credentials } = elsewhere
  const endpoints = { dynamodbEndpoint, s3Endpoint, sqsEndpoint, credentials }
  const dynamodb = dynamodbApi(dynamodbEndpoint, credentialsOf(endpoints))
  const sqs = sqsApi(sqsEndpoint)
  const s3 = elsewhere.s3Endpoint ? await foreignS3(endpoints) : embeddedS3(s3Endpoint)
  const isForgotten = options.directory === undefined
  const toDelete: (() => Promise<unknown>)[] = []
  return {
    directory,
    dynamodb,
    sqs,
    endpoints,
    isOwn: elsewhere.dynamodbEndpoint === undefined,
    failed: host.failed,
    async make({ tables, buckets, queues }) {
      const streams = new Map<string, string>()
      let isRestart = false
      for (const table of tables) {
        const { name, streamArn, isOld } = await createTable(dynamodb, table, elsewhere)
        if (isForgotten && elsewhere.dynamodbEndpoint) {
          if (isOld) throw cannotForget(name, elsewhere.dynamodbEndpoint)
          toDelete.push(() => dynamodb('DeleteTable', { TableName: name }))
        }
        isRestart ||= isOld
        if (streamArn) streams.set(name, streamArn)
      }
      if (streams.size > 0) await host.indexStream()
      for (const bucket of buckets) {
        const { isOld } = await s3.create(bucket)
        if (isForgotten && !isOld) toDelete.push(() => s3.delete(bucket))
      }
      await createQueues(sqs, queues)
      return { streamArns: streams, isRestart }
    },
    trimStream: (table, sequenceNumber) => tell({ kind: 'trim stream', table, sequenceNumber }),
    watch: (pid) => tell({ kind: 'watch', pid }),
    forget: (pid) => tell({ kind: 'forget', pid }),
    async stop() {
      // A store that has gone, or refuses, keeps what it has; the next start meets it and says so.
      await Promise.allSettled(toDelete.map((one) => one()))
      await host.stop()
    },
  }
}

/** It goes as a whole, with its folder. */
const embeddedS3 = (endpoint: string): ForeignS3 => ({
  create: (bucket) => createBucket(endpoint, bucket),
  delete: async () => {},
})

/** Its items may lie in an S3 that was kept. If we forgot that S3 but not the table, pops would fail for ever. */
const cannotForget = (table: string, endpoint: string): StartError =>
  new StartError(
    `Cannot forget the data at the end because the DynamoDB at ${endpoint} has the table ${table} from an earlier start; ` +
      'keep the data in a folder, or delete that table',
  )

type CreatedTable = {
  readonly name: string
  readonly streamArn?: string | undefined
  /** It was there from an earlier start. */
  readonly isOld: boolean
}

async function createTable(
  dynamodb: DynamodbApi,
  plan: TablePlan,
  elsewhere: Partial<StoreEndpoints> = {},
): Promise<CreatedTable> {
  const existing = await describe(dynamodb, plan.name)
  if (existing) refuseAnother(existing, plan, elsewhere)
  else await create(dynamodb, plan)
  const table = await whenActive(dynamodb, plan.name)
  if (plan.timeToLiveAttribute) await enableTimeToLive(dynamodb, plan)
  return {
    name: plan.name,
    isOld: existing !== undefined,
    ...(typeof table.LatestStreamArn === 'string' && { streamArn: table.LatestStreamArn }),
  }
}

async function create(dynamodb: DynamodbApi, { name, definition }: TablePlan): Promise<void> {
  try {
    await dynamodb('CreateTable', definition)
  } catch (error) {
    if (!(error instanceof DynamodbError)) throw error
    throw new StartError(`Cannot make the table ${name} because ${error.message}`)
  }
}

type Description = Readonly<Record<string, unknown>>

async function describe(dynamodb: DynamodbApi, name: string): Promise<Description | undefined> {
  try {
    const { Table } = await dynamodb('DescribeTable', { TableName: name })
    return isObject(Table) ? Table : undefined
  } catch (error) {
    if (error instanceof DynamodbError && error.code === 'ResourceNotFoundException') {
      return undefined
    }
    throw error
  }
}

/** The embedded one is active at once; DynamoDB Local takes a moment. */
async function whenActive(dynamodb: DynamodbApi, name: string): Promise<Description> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    const table = await describe(dynamodb, name)
    if (table?.TableStatus === 'ACTIVE') return table
    await delay(20)
  }
  throw new StartError(`Cannot use the table ${name} because it does not become active`)
}

async function enableTimeToLive(dynamodb: DynamodbApi, plan: TablePlan): Promise<void> {
  const { timeToLiveAttribute, name } = plan
  const { TimeToLiveDescription } = await dynamodb('DescribeTimeToLive', { TableName: name })
  if (isObject(TimeToLiveDescription) && TimeToLiveDescription.AttributeName !== undefined) return
  await dynamodb('UpdateTimeToLive', {
    TableName: name,
    TimeToLiveSpecification: { AttributeName: timeToLiveAttribute, Enabled: true },
  })
}

/** We cannot use a table with other keys, and must not write into it. */
function refuseAnother(
  existing: Description,
  plan: TablePlan,
  { dynamodbEndpoint }: Partial<StoreEndpoints>,
): void {
  const hasStream = existing.LatestStreamArn !== undefined
  if (shapeOf(existing) === shapeOf(plan.definition) && hasStream === plan.hasStream) return
  throw new StartError(
    dynamodbEndpoint === undefined
      ? `Cannot use the table ${plan.name} because the data folder has it with other keys, indexes or ` +
          'stream than the template; choose another folder with --data, or delete this one'
      : `Cannot use the table ${plan.name} because the DynamoDB at ${dynamodbEndpoint} has it with other keys, ` +
          'indexes or stream than the template; delete it there',
  )
}

function shapeOf(table: Description): string {
  const indexes = ['GlobalSecondaryIndexes', 'LocalSecondaryIndexes'].flatMap((kind) =>
    (Array.isArray(table[kind]) ? table[kind] : [])
      .filter(isObject)
      .map(({ IndexName, KeySchema }) => `${kind} ${IndexName} ${keysOf(KeySchema)}`),
  )
  return [keysOf(table.KeySchema), ...indexes.sort()].join('\n')
}

function keysOf(schema: unknown): string {
  return (Array.isArray(schema) ? schema : [])
    .filter(isObject)
    .map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName}`)
    .sort()
    .join(' ')
}

/**
 * Makes the queues that are missing. Queues from an earlier start get the template's attributes, and the defaults for
 * those that the template no longer has.
 */
async function createQueues(sqs: SqsApi, queues: readonly QueuePlan[]): Promise<void> {
  for (const { name, isFifo } of queues) {
    const Attributes = isFifo ? { FifoQueue: 'true' } : {}
    await refusedAs(name, sqs('CreateQueue', { QueueName: name, Attributes }))
  }
  // Only now: an attribute may name another queue.
  for (const { name, url, isFifo, attributes } of queues) {
    const Attributes = { ...defaultAttributes(isFifo), RedrivePolicy: '', ...attributes }
    await refusedAs(name, sqs('SetQueueAttributes', { QueueUrl: url, Attributes }))
  }
}

async function refusedAs(name: string, request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof SqsApiError)) throw error
    throw new StartError(`Cannot make the queue ${name} because ${error.message}`)
  }
}
