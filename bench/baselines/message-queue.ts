// A row a message, as in AWS's own sample (aws.amazon.com/blogs/database/
// implementing-priority-queueing-with-amazon-dynamodb): rows that are `queued` appear in an index
// in order of time; a consumer queries the index, marks the first row that nobody holds on the
// condition that its version is the one seen, and removes it when done. Leaner than the sample
// where its design allows: a message is put into the queue by one write instead of a read, a
// write and a read; the version comes from the query; a finished message is deleted; the index
// holds what choosing needs and no payload; pages of 25 instead of 250.

import { randomBytes } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { Store } from '../bench.ts'
import { isRefused } from '../metering/failed-write.ts'
import { createTable, keySchema } from './create-table.ts'

const INDEX = 'queued-last_updated_timestamp-index'
const VISIBILITY_TIMEOUT_MS = 60_000
const PAGE = 25

export const createMessageTable = (dynamodb: DynamoDBClient, name: string): Promise<unknown> =>
  createTable(dynamodb, name, {
    attributes: { id: 'S', queued: 'N', last_updated_timestamp: 'S' },
    keys: ['id'],
    GlobalSecondaryIndexes: [
      {
        IndexName: INDEX,
        KeySchema: keySchema(['queued', 'last_updated_timestamp']),
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['system_info'] },
      },
    ],
  })

type SystemInfo = {
  readonly version: number
  readonly queue_selected: boolean
  readonly peek_utc_timestamp?: number
}
type Message = { readonly id: string; readonly system_info: SystemInfo; readonly data?: string }

type MessageQueue = {
  enqueue(text: string): Promise<void>
  peek(): Promise<Message | undefined>
  remove(message: Message): Promise<void>
}

export function createMessageQueue(store: Store, TableName: string): MessageQueue {
  async function candidates(startKey: object | undefined) {
    return (await store.dynamodb.send(
      new QueryCommand({
        TableName,
        IndexName: INDEX,
        KeyConditionExpression: 'queued = :one',
        ExpressionAttributeValues: { ':one': 1 },
        Limit: PAGE,
        ...(startKey && { ExclusiveStartKey: startKey as Record<string, unknown> }),
      }),
    )) as { readonly Items?: readonly Message[]; readonly LastEvaluatedKey?: object }
  }

  async function select({ id, system_info }: Message): Promise<Message | undefined> {
    try {
      const answer = (await store.dynamodb.send(
        new UpdateCommand({
          TableName,
          Key: { id },
          UpdateExpression:
            'ADD #sys.#version :one SET #sys.#selected = :true, #sys.#peeked = :now',
          ConditionExpression: '#sys.#version = :seen',
          ExpressionAttributeNames: {
            '#sys': 'system_info',
            '#version': 'version',
            '#selected': 'queue_selected',
            '#peeked': 'peek_utc_timestamp',
          },
          ExpressionAttributeValues: {
            ':one': 1,
            ':true': true,
            ':now': Date.now(),
            ':seen': system_info.version,
          },
          ReturnValues: 'ALL_NEW',
        }),
      )) as { readonly Attributes: Message }
      return answer.Attributes
    } catch (error) {
      if (isRefused(error)) return undefined
      throw error
    }
  }

  return {
    async enqueue(text) {
      const now = new Date().toISOString()
      const Item = {
        id: randomBytes(12).toString('base64url'),
        data: text,
        queued: 1,
        last_updated_timestamp: now,
        system_info: { version: 1, queue_selected: false, queue_added_timestamp: now },
      }
      await store.dynamodb.send(new PutCommand({ TableName, Item }))
    },

    async peek() {
      let startKey: object | undefined
      do {
        const page = await candidates(startKey)
        startKey = page.LastEvaluatedKey
        for (const message of page.Items ?? []) {
          if (isHeld(message.system_info)) continue
          const selected = await select(message)
          if (selected !== undefined) return selected
        }
      } while (startKey !== undefined)
      return undefined
    },

    async remove({ id, system_info }) {
      await store.dynamodb.send(
        new DeleteCommand({
          TableName,
          Key: { id },
          ConditionExpression: '#sys.#version = :seen',
          ExpressionAttributeNames: { '#sys': 'system_info', '#version': 'version' },
          ExpressionAttributeValues: { ':seen': system_info.version },
        }),
      )
    },
  }
}

const isHeld = ({ queue_selected, peek_utc_timestamp = 0 }: SystemInfo): boolean =>
  queue_selected && Date.now() - peek_utc_timestamp < VISIBILITY_TIMEOUT_MS
