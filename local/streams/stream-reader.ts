// A table's stream, page by page and shard after shard, from where an earlier reader stopped; where that is, on the
// disk; and how far the stream may be trimmed because every mapping is past it.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../start-error.ts'
import { type DynamodbApi, DynamodbError } from '../stores/store-api.ts'
import { REGION } from '../template/identities.ts'

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

type CheckpointListeners = {
  readonly onSaved: (position: Position) => void
  readonly onProblem: (sentence: string) => void
}

/**
 * Up to where a mapping's records are done with, on disk. After a kill the records of the last
 * moment are delivered once more, as Lambda may do at any time.
 */
const WRITE_EVERY_MS = 200

export class Checkpoint {
  readonly #file: string
  readonly #listeners: CheckpointListeners
  #position: Position | undefined
  #timer: NodeJS.Timeout | undefined
  #hadProblem = false

  constructor(file: string, listeners: CheckpointListeners) {
    this.#file = file
    this.#listeners = listeners
    mkdirSync(dirname(file), { recursive: true })
    this.#position = read(file)
  }

  get position(): Position | undefined {
    return this.#position
  }

  advance(position: Position): void {
    this.#position = position
    this.#timer ??= setTimeout(() => this.save(), WRITE_EVERY_MS)
  }

  save(): void {
    if (this.#timer === undefined || this.#position === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      // A kill in the middle must not leave half a file.
      const beside = `${this.#file}.new`
      writeFileSync(beside, JSON.stringify(this.#position))
      renameSync(beside, this.#file)
      this.#hadProblem = false
      this.#listeners.onSaved(this.#position)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** A disk that is full, or a folder that somebody has removed, ends nothing: the next position is tried again. */
  #failed(error: unknown): void {
    const text = `Cannot write ${this.#file}: ${messageOf(error)}; after a restart the records since then come again.`
    if (!this.#hadProblem) this.#listeners.onProblem(text)
    this.#hadProblem = true
  }
}

function read(file: string): Position | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Position
  } catch {
    return undefined
  }
}

/** A delete takes as many rows as are written in a second and more; see `StreamRows`. */
const TRIM_EVERY_MS = 1_000

/** Deletes the records of a stream that every mapping of its table is past. */
export class StreamTrimming {
  readonly #trim: (tableName: string, sequenceNumber: string) => void
  /** By table, then by mapping. */
  readonly #positions = new Map<string, Map<string, bigint | undefined>>()
  readonly #due = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(trim: (tableName: string, sequenceNumber: string) => void) {
    this.#trim = trim
  }

  /** Call this for each mapping before any of them is past a record. */
  add(tableName: string, mappingId: string): void {
    const positions = this.#positions.get(tableName) ?? new Map<string, bigint | undefined>()
    this.#positions.set(tableName, positions.set(mappingId, undefined))
  }

  past(tableName: string, mappingId: string, { sequenceNumber }: Position): void {
    this.#positions.get(tableName)?.set(mappingId, BigInt(sequenceNumber))
    this.#due.add(tableName)
    this.#timer ??= setTimeout(() => this.#run(), TRIM_EVERY_MS).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #run(): void {
    this.#timer = undefined
    for (const tableName of this.#due) {
      const lowest = lowestOf([...(this.#positions.get(tableName)?.values() ?? [])])
      if (lowest !== undefined) this.#trim(tableName, String(lowest))
    }
    this.#due.clear()
  }
}

/** `undefined` while one of them has not said where it is. */
function lowestOf(positions: readonly (bigint | undefined)[]): bigint | undefined {
  return positions.reduce((lowest, position) =>
    lowest === undefined || position === undefined || position < lowest ? position : lowest,
  )
}

/** A record as GetRecords gives it. */
export type StreamRecord = {
  readonly eventID: string
  readonly dynamodb: {
    readonly SequenceNumber: string
    /** Seconds. */
    readonly ApproximateCreationDateTime?: number | undefined
    readonly OldImage?: object | undefined
    readonly NewImage?: object | undefined
  }
}

/**
 * DynamoDB makes no record of a write that changes nothing; dynoxide does. A stream without both images does not show
 * whether anything changed.
 */
export const changesSomething = ({ dynamodb: { OldImage, NewImage } }: StreamRecord): boolean =>
  OldImage === undefined || NewImage === undefined || !isDeepStrictEqual(OldImage, NewImage)

/** A record as Lambda hands it to a function. */
export const lambdaRecord = (record: StreamRecord, streamArn: string): StreamRecord => ({
  ...record,
  ...{ eventSourceARN: streamArn, awsRegion: REGION },
})

export const sequenceOf = (record: StreamRecord): string => record.dynamodb.SequenceNumber

export const createdAtMs = ({ dynamodb }: StreamRecord): number =>
  (dynamodb.ApproximateCreationDateTime ?? 0) * 1000

/** DynamoDB Local 3 writes an empty map as `{}`, which is no value at all. Nothing else comes so. */
function withEmptyMaps(record: StreamRecord): StreamRecord {
  const { OldImage, NewImage } = record.dynamodb
  return {
    ...record,
    dynamodb: {
      ...record.dynamodb,
      ...(OldImage && { OldImage: values(OldImage) }),
      ...(NewImage && { NewImage: values(NewImage) }),
    },
  }
}

const values = (image: object): object =>
  Object.fromEntries(Object.entries(image).map(([name, one]) => [name, value(one)]))

type Value = { readonly M?: object; readonly L?: readonly Value[] }

function value(one: Value): Value {
  if (one.M) return { M: values(one.M) }
  if (one.L) return { L: one.L.map(value) }
  return Object.keys(one).length === 0 ? { M: {} } : one
}
