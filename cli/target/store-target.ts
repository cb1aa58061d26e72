// Queues in the table itself, by the engine, for somebody who may be far from the region.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { createRequestHandler, type RequestHandler } from '../../aws/connections.ts'
import { QUEUES_PER_PAGE_MAX } from '../../engine/core/limits.ts'
import { type Configuration, tagOf } from '../../engine/core/settings.ts'
import { createQueues, type Queues, type SchedulingVerbs } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import type { AwsSettings, StorePlace } from './place.ts'
import type { Configured, Listed, Target } from './target.ts'

type StoreClients = { readonly dynamodb: DynamoDBClient; readonly s3: S3Client }

/**
 * The SDK's own chain finds region and credentials. One attempt: the engine repeats what is definite
 * and looks up what is not (decision 0008).
 */
export const storeClients = (aws: AwsSettings): StoreClients => ({
  dynamodb: new DynamoDBClient({ ...aws, maxAttempts: 1, requestHandler: fromAfar() }),
  s3: new S3Client({ ...aws, maxAttempts: 1, requestHandler: fromAfar() }),
})

/** A desk may be far from the region, on a line of any kind: slower than a function, yet not for ever. */
export const fromAfar = (): RequestHandler =>
  createRequestHandler({ connectTimeoutMs: 5_000, answerTimeoutMs: 30_000 })

export function openStoreTarget(
  { table, bucket, asTyped }: StorePlace,
  aws: AwsSettings,
): Target & Pick<Queues, 'patterns' | 'configurePatterns' | keyof SchedulingVerbs> {
  const { dynamodb, s3 } = storeClients(aws)
  const queues = createQueues({
    tableName: table,
    bucketName: bucket,
    dynamodb,
    s3,
    // Nobody waits for this work, and the next process tries it again, so we print nothing.
    onBackgroundError() {},
  })
  return {
    ...queues,
    configuration: async (queue) => configured(await queues.configuration(queue)),
    async configure(queue, change, tag) {
      return configured(await queues.configure(queue, change, matching(tag)))
    },
    unconfigure: async (queue, tag) => configured(await queues.unconfigure(queue, matching(tag))),
    queues: (request) => allQueues(queues, request),
    name: `table ${table}`,
    asTyped,
    close() {
      dynamodb.destroy()
      s3.destroy()
    },
  }
}

const matching = (tag: string | undefined) => present({ ifMatch: tag })

const configured = (settings: Configuration): Configured => ({
  settings,
  etag: tagOf(settings),
})

async function* allQueues(
  queues: Queues,
  { prefix, detail }: Parameters<Target['queues']>[0],
): AsyncGenerator<Listed> {
  let cursor: string | undefined
  do {
    const page = await queues.list(present({ limit: QUEUES_PER_PAGE_MAX, prefix, detail, cursor }))
    for (const { queue, count, detail: told } of page.queues) {
      yield present({ queue, count, scheduledCount: told?.scheduledCount })
    }
    cursor = page.cursor
  } while (cursor !== undefined)
}
