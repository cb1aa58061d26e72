// Reads a table's stream page by page, shard after shard, from where an earlier reader stopped.

import { type DynamodbApi, DynamodbError } from '../stores/dynamodb-api.ts'
import { type StreamRecord, sequenceOf, withEmptyMaps } from './stream-record.ts'

/** The last record that was read. */
export type Position = { readonly shardId: string; readonly sequenceNumber: string }

export type Page = {
  readonly records: readonly StreamRecord[]
  /** The position of the last record; absent until there is one. */
  readonly position?: Position | undefined
}

/** The most that GetRecords gives. */
const PAGE_SIZE = 1_000

type Shard = { readonly ShardId: string; readonly ParentShardId?: string }

export class StreamReader {
  readonly #dynamodb: DynamodbApi
  readonly #streamArn: string
  #position: Position | undefined
  #shardId: string | undefined
  #iterator: string | undefined

  /** Without a position it begins with the oldest record there is. */
  constructor(dynamodb: DynamodbApi, streamArn: string, position: Position | undefined) {
    this.#dynamodb = dynamodb
    this.#streamArn = streamArn
    this.#position = position
    this.#shardId = position?.shardId
  }

  async read(): Promise<Page> {
    try {
      return await this.#readPage()
    } catch (error) {
      // The iterator has expired, or is from a DynamoDB that has been started again since: ask for another.
      this.#iterator = undefined
      throw error
    }
  }

  async #readPage(): Promise<Page> {
    this.#shardId ??= (await this.#shards())[0]?.ShardId
    if (this.#shardId === undefined) return { records: [] }
    this.#iterator ??= await this.#startIterator(this.#shardId)
    const shardId = this.#shardId
    const output = await this.#dynamodb('GetRecords', {
      ShardIterator: this.#iterator,
      Limit: PAGE_SIZE,
    })
    const records = ((output.Records ?? []) as readonly StreamRecord[]).map(withEmptyMaps)
    const last = records.at(-1)
    if (last) this.#position = { shardId, sequenceNumber: sequenceOf(last) }
    const position = this.#position
    this.#iterator = output.NextShardIterator as string | undefined
    // A shard that is closed and read to its end has no further iterator.
    if (this.#iterator === undefined) await this.#toNextShard()
    return { records, position }
  }

  async #toNextShard(): Promise<void> {
    const shards = await this.#shards()
    const at = shards.findIndex(({ ShardId }) => ShardId === this.#shardId)
    const next = shards[at + 1]
    // If there is none yet, the next read asks again at the same place, after the last record.
    if (next) this.#shardId = next.ShardId
  }

  async #startIterator(shardId: string): Promise<string> {
    const shard = { StreamArn: this.#streamArn, ShardId: shardId }
    const oldest = { ...shard, ShardIteratorType: 'TRIM_HORIZON' }
    const { shardId: lastShardId, sequenceNumber: SequenceNumber } = this.#position ?? {}
    const behind = { ...shard, ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber }
    try {
      return await this.#iteratorOf(lastShardId === shardId ? behind : oldest)
    } catch (error) {
      // The record was trimmed since, or is of a table that was made again: a record that comes twice does no harm.
      if (!(error instanceof DynamodbError)) throw error
      const shards = (await this.#shards()).map(({ ShardId }) => ShardId)
      const [first] = shards
      if (first === undefined || shards.includes(shardId)) return this.#iteratorOf(oldest)
      // Its shard is gone, and no request for it will ever succeed.
      this.#shardId = first
      return this.#iteratorOf({ ...oldest, ShardId: first })
    }
  }

  async #iteratorOf(input: Readonly<Record<string, unknown>>): Promise<string> {
    return String((await this.#dynamodb('GetShardIterator', input)).ShardIterator)
  }

  async #shards(): Promise<readonly Shard[]> {
    const input = { StreamArn: this.#streamArn }
    const { StreamDescription } = await this.#dynamodb('DescribeStream', input)
    return (StreamDescription as { Shards?: readonly Shard[] }).Shards ?? []
  }
}
