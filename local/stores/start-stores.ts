// The embedded stores of a local stack, with the tables and buckets of its template in them.

import { resolve } from 'node:path'
import { createQueues } from '../sqs/create-queues.ts'
import { type SqsApi, sqsApi } from '../sqs/sqs-api.ts'
import { StartError } from '../start-error.ts'
import type { Plan } from '../template/plan.ts'
import { createBucket } from './create-bucket.ts'
import { createTable } from './create-tables.ts'
import { type DynamodbApi, dynamodbApi } from './dynamodb-api.ts'
import { dynoxideOf, type Platform } from './dynoxide-binary.ts'
import { type ForeignS3, foreignS3 } from './foreign-s3.ts'
import { startHost } from './start-host.ts'
import { credentialsOf, type StoreEndpoints, storesElsewhere } from './store-environment.ts'

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

export type Made = {
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
