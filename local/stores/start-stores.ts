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
import { startHost } from './start-host.ts'
import type { StoreEndpoints } from './store-environment.ts'

export type StoresOptions = {
  /** Where to keep the data. Default: a temporary folder, which is removed at the end. */
  readonly directory?: string | undefined
  /** PUSHPOP_DYNAMODB_ENDPOINT replaces the embedded DynamoDB. */
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
  const elsewhere = environment.PUSHPOP_DYNAMODB_ENDPOINT || undefined
  const dynoxide = elsewhere ? undefined : dynoxideOf(platform)

  const host = await startHost(
    {
      dynoxide,
      s3: true,
      sqs: true,
      ...(options.directory && { directory: resolve(options.directory) }),
      owner: { pid: process.pid, url },
    },
    { ownGroup: true },
  )
  const { directory, s3Endpoint, sqsEndpoint, tell } = host
  const dynamodbEndpoint = elsewhere ?? host.dynamodbEndpoint
  if (!directory || !s3Endpoint || !sqsEndpoint || !dynamodbEndpoint) {
    throw new StartError('Cannot go on because the embedded stores did not say where they are')
  }
  const dynamodb = dynamodbApi(dynamodbEndpoint)
  const sqs = sqsApi(sqsEndpoint)
  return {
    directory,
    dynamodb,
    sqs,
    endpoints: { dynamodbEndpoint, s3Endpoint, sqsEndpoint },
    isOwn: elsewhere === undefined,
    failed: host.failed,
    async make({ tables, buckets, queues }) {
      const streams = new Map<string, string>()
      let isRestart = false
      for (const table of tables) {
        const { name, streamArn, isOld } = await createTable(dynamodb, table)
        isRestart ||= isOld
        if (streamArn) streams.set(name, streamArn)
      }
      if (streams.size > 0) await host.indexStream()
      for (const bucket of buckets) await createBucket(s3Endpoint, bucket)
      await createQueues(sqs, queues)
      return { streamArns: streams, isRestart }
    },
    trimStream: (table, sequenceNumber) => tell({ kind: 'trim stream', table, sequenceNumber }),
    watch: (pid) => tell({ kind: 'watch', pid }),
    forget: (pid) => tell({ kind: 'forget', pid }),
    stop: () => host.stop(),
  }
}
