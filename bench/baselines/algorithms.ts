// Other algorithms on the same store, to compare with: the limit of one write, a row a message, and the sources.

import { randomBytes } from 'node:crypto'
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  DeleteCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import type { Store } from '../bench.ts'
import { isCancelled, isRefused } from '../metered-stores.ts'

export async function createBareItem(store: Store, name: string): Promise<void> {
  const { tableName: TableName } = store
  await store.dynamodb.send(
    new PutCommand({ TableName, Item: { pk: `bare#${name}`, sk: 'item', writes: 0, tail: [] } }),
  )
}

/**
 * The limit: one `UpdateItem` on one item, as large as an entry of the queue, on a condition that
 * always holds. The list is replaced rather than appended to, so that the item keeps its size and
 * each write is one unit: no queue that keeps its order in one item can do with less.
 */
export async function bareUpdate(store: Store, name: string, text: string): Promise<void> {
  await store.dynamodb.send(
    new UpdateCommand({
      TableName: store.tableName,
      Key: { pk: `bare#${name}`, sk: 'item' },
      UpdateExpression: 'SET #tail = :entries ADD #writes :one',
      ConditionExpression: 'attribute_exists(#writes)',
      ExpressionAttributeNames: { '#tail': 'tail', '#writes': 'writes' },
      ExpressionAttributeValues: { ':entries': [text], ':one': 1 },
      ReturnValues: 'UPDATED_NEW',
    }),
  )
}

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

/**
 * A row a message, as in AWS's own sample (aws.amazon.com/blogs/database/
 * implementing-priority-queueing-with-amazon-dynamodb): rows that are `queued` appear in an index
 * in order of time; a consumer queries the index, marks the first row that nobody holds on the
 * condition that its version is the one seen, and removes it when done. Leaner than the sample
 * where its design allows: a message is put into the queue by one write instead of a read, a
 * write and a read; the version comes from the query; a finished message is deleted; the index
 * holds what choosing needs and no payload; pages of 25 instead of 250.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: three verbs that share one store, as in the sample
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

const SEGMENT_SIZE = 100

type Metadata = {
  readonly version: number
  readonly count: number
  readonly head_segment: number
  readonly tail_segment: number
  readonly _active_lock?: {
    readonly lock_id: string
    readonly items: readonly string[]
    readonly expires_at: number
  }
}
type Segment = {
  readonly number: number
  readonly version: number
  readonly items: readonly string[]
}
type Change = { readonly metadata: Metadata; readonly segment?: Segment }
type Decision<T> = { readonly change?: Change; readonly answer: T }

const empty: Metadata = { version: 0, count: 0, head_segment: 0, tail_segment: 0 }

type SourcesQueue = {
  push(text: string): Promise<void>
  popWithAck(): Promise<{ readonly items: readonly string[]; readonly lockId: string } | undefined>
  acknowledge(lockId: string): Promise<void>
}

/**
 * The segmented queue of actor frameworks ("the sources"): metadata and segments
 * of 100 items, both read and written whole by each operation, without an actor framework to keep
 * others out. So the metadata carry a version, each operation is one transaction on the condition
 * that it is still the one read (Dapr's state manager saves both keys in a transaction too), and
 * the loser of a race reads again after a random, growing pause. Both rows are read at once; since
 * two reads are not a snapshot, a segment's row has the version too, and the transaction compares it.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: what an actor knows between its operations is here
export function createSourcesQueue(store: Store, queue: string): SourcesQueue {
  // An actor knows its pointers from its last operation; the read decides whether they still hold.
  let known = empty
  const metadataKey = { pk: `sources#${queue}`, sk: 'metadata' }
  const segmentKey = (number: number) => ({ pk: `sources#${queue}`, sk: `seg_${number}` })

  async function read(pointer: 'head_segment' | 'tail_segment') {
    for (;;) {
      const wanted = known[pointer]
      const rows = await get([metadataKey, segmentKey(wanted)])
      const metadata = (rows.find((row) => row.sk === 'metadata')?.state ?? empty) as Metadata
      known = metadata
      if (metadata[pointer] !== wanted) continue
      const { version = 0, items = [] } = rows.find((row) => row.sk !== 'metadata') ?? {}
      return { metadata, segment: { number: wanted, version, items } as Segment }
    }
  }

  async function get(keys: readonly object[]) {
    const request = { Keys: keys as Record<string, unknown>[], ConsistentRead: true }
    const answer = (await store.dynamodb.send(
      new BatchGetCommand({ RequestItems: { [store.tableName]: request } }),
    )) as { Responses?: Record<string, Record<string, unknown>[]> }
    return answer.Responses?.[store.tableName] ?? []
  }

  async function save(seen: Metadata, { metadata, segment }: Change): Promise<boolean> {
    const version = seen.version + 1
    const state = { ...metadata, version }
    const entries = [writeIfSeen(metadataKey, seen.version, { version, state })]
    if (segment !== undefined) {
      const { number, items } = segment
      const row = items.length === 0 ? undefined : { version, items }
      entries.push(writeIfSeen(segmentKey(number), segment.version, row))
    }
    try {
      await store.dynamodb.send(new TransactWriteCommand({ TransactItems: entries }))
      known = state
      return true
    } catch (error) {
      if (isCancelled(error)) return false
      throw error
    }
  }

  function writeIfSeen(key: object, seenVersion: number, row: object | undefined) {
    const common = {
      TableName: store.tableName,
      ...(seenVersion === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            ConditionExpression: 'version = :seen',
            ExpressionAttributeValues: { ':seen': seenVersion },
          }),
    }
    return row === undefined
      ? { Delete: { ...common, Key: { ...key } } }
      : { Put: { ...common, Item: { ...key, ...row } } }
  }

  /** One operation: read, decide and save, again each time another caller was first. */
  async function operate<T>(
    pointer: 'head_segment' | 'tail_segment',
    decide: (metadata: Metadata, segment: Segment) => Decision<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const { metadata, segment } = await read(pointer)
      const { change, answer } = decide(metadata, segment)
      if (change === undefined || (await save(metadata, change))) return answer
      await store.delay.wait(Math.random() * Math.min(100, 5 * 2 ** attempt))
    }
  }

  return {
    push: (text) =>
      operate('tail_segment', (metadata, tail) => {
        const segment =
          tail.items.length < SEGMENT_SIZE
            ? { ...tail, items: [...tail.items, text] }
            : { number: tail.number + 1, version: 0, items: [text] }
        return {
          change: {
            metadata: { ...metadata, tail_segment: segment.number, count: metadata.count + 1 },
            segment,
          },
          answer: undefined,
        }
      }),

    popWithAck: () =>
      operate('head_segment', (metadata, head) => {
        const [first, ...rest] = head.items
        if (first === undefined || metadata._active_lock !== undefined) return { answer: undefined }
        const lockId = randomBytes(8).toString('base64url')
        const _active_lock = { lock_id: lockId, items: [first], expires_at: Date.now() + 30_000 }
        const head_segment =
          head.number + (rest.length === 0 && head.number < metadata.tail_segment ? 1 : 0)
        return {
          change: {
            metadata: { ...metadata, count: metadata.count - 1, head_segment, _active_lock },
            segment: { ...head, items: rest },
          },
          answer: { items: [first], lockId },
        }
      }),

    async acknowledge(lockId) {
      for (;;) {
        const [row] = await get([metadataKey])
        const seen = row?.state as Metadata
        if (seen._active_lock?.lock_id !== lockId) throw new Error('The lock is gone')
        const { _active_lock: _, ...metadata } = seen
        if (await save(seen, { metadata })) return
      }
    },
  }
}

type Table = Pick<CreateTableCommandInput, 'GlobalSecondaryIndexes'> & {
  readonly attributes: Readonly<Record<string, 'S' | 'N'>>
  readonly keys: readonly string[]
}

/** A table that is not PushPop's. */
export const createTable = (
  dynamodb: DynamoDBClient,
  TableName: string,
  { attributes, keys, ...more }: Table,
): Promise<unknown> =>
  dynamodb.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: Object.entries(attributes).map(([AttributeName, AttributeType]) => ({
        AttributeName,
        AttributeType,
      })),
      KeySchema: keySchema(keys),
      ...more,
    }),
  )

const keySchema = (names: readonly string[]) =>
  names.map((AttributeName, i) => ({
    AttributeName,
    KeyType: i === 0 ? ('HASH' as const) : ('RANGE' as const),
  }))
