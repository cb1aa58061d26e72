// What the doctor works with: the engine's own parts, and the two things that it never does itself:
// looking through a whole table, and listing a bucket.

import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { IDEMPOTENCY_TTL_SECONDS } from '../../lambdas/engine/core/limits.ts'
import type { Engine } from '../../lambdas/engine/operations/engine.ts'
import { ItemReader } from '../../lambdas/engine/store/items.ts'
import { BoundedCache } from '../../lambdas/foundation/bounded-cache.ts'
import { Dynamo, type Row } from '../../lambdas/foundation/dynamo.ts'
import { Objects } from '../../lambdas/foundation/objects.ts'
import { systemClock } from '../../lambdas/foundation/system.ts'
import { createSlotEngine } from '../../lambdas/rate/operations/rate-engine.ts'
import type { Place } from '../target/open-target.ts'
import { type AwsSettings, storeClients } from '../target/store-target.ts'

export type FoundObject = { readonly key: string; readonly modifiedMs: number }

export type Surgery = {
  readonly engine: Engine
  /** All objects of a queue. */
  objects(queue: string): AsyncIterable<FoundObject>
  /** Keys of all chunk and batch rows of a queue; reads, and pays for, the whole table. */
  rows(queue: string, onRead: (rows: number) => void): AsyncIterable<Row>
  close(): void
}

export function openSurgery(
  { table, bucket }: Extract<Place, { kind: 'store' }>,
  aws: AwsSettings,
): Surgery {
  const { dynamodb, s3 } = storeClients(aws)
  const documents = DynamoDBDocumentClient.from(dynamodb)
  const dynamo = new Dynamo(dynamodb, table, systemClock, Math.random)
  // What cannot be read counts as missing, and is what it reports.
  const objects = new Objects(s3, bucket, systemClock, Math.random, () => {})
  return {
    engine: {
      dynamo,
      objects,
      items: new ItemReader(dynamo, objects),
      clock: systemClock,
      random: Math.random,
      // It only reads, and deletes what nobody can ask for: nothing is worth remembering.
      memory: new BoundedCache(0),
      alone: new WeakSet(),
      limitsSeenMs: new WeakMap(),
      slots: createSlotEngine({ dynamo, clock: systemClock, random: Math.random }),
      idempotencyTtlSeconds: IDEMPOTENCY_TTL_SECONDS,
      events: true,
      remindAfterMs: undefined,
      stuckUntilMs: new BoundedCache(0),
      tidying: new Set(),
      onBackgroundError() {},
    },
    async *objects(queue) {
      let ContinuationToken: string | undefined
      do {
        const page = await s3.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: `${queue}/`,
            ...(ContinuationToken !== undefined && { ContinuationToken }),
          }),
        )
        for (const { Key: key, LastModified } of page.Contents ?? []) {
          if (key !== undefined) yield { key, modifiedMs: LastModified?.getTime() ?? Date.now() }
        }
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken !== undefined)
    },
    async *rows(queue, onRead) {
      let from: Row | undefined
      let read = 0
      do {
        const page = await documents.send(
          new ScanCommand({
            TableName: table,
            ConsistentRead: true,
            ProjectionExpression: 'pk, sk, b',
            FilterExpression: 'begins_with(pk, :s) OR begins_with(pk, :b)',
            ExpressionAttributeValues: { ':s': `s#${queue}#`, ':b': `b#${queue}#` },
            ...(from !== undefined && { ExclusiveStartKey: from }),
          }),
        )
        read += page.ScannedCount ?? 0
        onRead(read)
        yield* page.Items ?? []
        from = page.LastEvaluatedKey
      } while (from !== undefined)
    },
    close() {
      dynamodb.destroy()
      s3.destroy()
    },
  }
}
