// The doctor's tools: the engine's own parts, and two things that the engine never does: scanning a whole table, and
// listing a bucket.

import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import type { Row } from '../../aws/dynamo.ts'
import { createEngine } from '../../engine/create-engine.ts'
import type { Engine } from '../../engine/driver/engine.ts'
import type { Place } from '../target/open-target.ts'
import { type AwsSettings, storeClients } from '../target/store-target.ts'

export type FoundObject = { readonly key: string; readonly modifiedMs: number }

export type Surgery = {
  readonly engine: Engine
  /** All objects of a queue. */
  objects(queue: string): AsyncIterable<FoundObject>
  /**
   * Keys of all chunk and batch rows of a queue, and of rows of its scheduled items; reads, and pays for, the whole
   * table.
   */
  rows(queue: string, onRead: (rows: number) => void): AsyncIterable<Row>
  close(): void
}

export function openSurgery(
  { table, bucket }: Extract<Place, { kind: 'store' }>,
  aws: AwsSettings,
): Surgery {
  const { dynamodb, s3 } = storeClients(aws)
  const documents = DynamoDBDocumentClient.from(dynamodb)
  const engine = createEngine({
    tableName: table,
    bucketName: bucket,
    dynamodb,
    s3,
    random: Math.random,
    // Data that cannot be read counts as missing, and the doctor reports it.
    onBackgroundError() {},
  })
  return {
    engine,
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
            FilterExpression: 'begins_with(pk, :s) OR begins_with(pk, :b) OR begins_with(pk, :t)',
            ExpressionAttributeValues: {
              ':s': `s#${queue}#`,
              ':b': `b#${queue}#`,
              ':t': `t#${queue}#`,
            },
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
