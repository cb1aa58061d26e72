import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll } from 'vitest'
import type { Clock, Row } from '../../aws/dynamo.ts'
import type { QueueRecord } from '../../engine/core/record.ts'
import { decodeRecord, type StoredRecord } from '../../engine/core/stored-record.ts'
import {
  createQueues,
  type PushItem,
  type Queues,
  type QueuesOptions,
} from '../../engine/queues.ts'
import { type Embedded, startEmbedded, startQueues, type TestQueues } from '../../testing/index.ts'
import { seeded } from '../../testing/random.ts'
import type { Item } from '../../testing/simulated/dynamodb/values.ts'
import { itemSize } from '../../testing/simulated/dynamodb/values.ts'
import { createSimulatedClient } from '../../testing/simulated/network.ts'
import { SimulatedStore, type SimulatedStoreOptions } from '../../testing/simulated/store.ts'
import { announcedLines } from '../support/announcements.ts'
import { ManualClock } from './manual-clock.ts'
import { type Steering, Wire } from './wire.ts'

/** A store with engines on it that share nothing but the store, and a clock that tests move. */

type Port = { send(command: never): Promise<unknown> }

type Store = {
  readonly tableName: string
  readonly bucketName: string
  readonly dynamodb: Port
  readonly s3: Port
  /** Read units so far, where the store counts them. */
  readUnits?(): number
  writeUnits?(): number
  rows(): Promise<Row[]>
  objects(): Promise<string[]>
  close(): Promise<void>
}

type EngineOptions = Steering & {
  readonly clock?: Clock
  readonly idempotencyTtlSeconds?: number
  readonly events?: boolean
  readonly remindAfterSeconds?: number
  readonly linger?: QueuesOptions['linger']
}

export type EngineOnWire = Queues & { readonly wire: Wire }

export class Stage {
  store!: Store
  readonly clock = new ManualClock()
  /** What failed without an answer to tell. */
  readonly background: { readonly error: unknown; readonly step: string }[] = []
  /** Expired items that its engines took out of queues. */
  expired = 0
  /** What a simulated store's writes were announced as: `orders: items-available`. */
  readonly announced: string[] = []
  #queues = 0
  #engines = 0

  constructor(store?: Store) {
    if (store !== undefined) this.store = store
  }

  /** An id that no other test has used. */
  queue(): string {
    this.#queues += 1
    return `queue-${this.#queues}`
  }

  /** A queue with these items in it, and the process that has pushed them. */
  async holding(items: readonly PushItem[]): Promise<{ queues: EngineOnWire; queue: string }> {
    const [queues, queue] = [this.engine(), this.queue()]
    await queues.push(queue, { items })
    return { queues, queue }
  }

  /** A process of its own: no memory in common with another. */
  engine(options: EngineOptions = {}): EngineOnWire {
    const {
      clock = this.clock,
      idempotencyTtlSeconds,
      remindAfterSeconds,
      linger,
      events = true,
      ...steering
    } = options
    const wire = new Wire(steering)
    this.#engines += 1
    const queues = createQueues({
      tableName: this.store.tableName,
      bucketName: this.store.bucketName,
      dynamodb: wire.through('dynamodb', this.store.dynamodb),
      s3: wire.through('s3', this.store.s3),
      clock,
      random: seeded(this.#engines),
      events,
      ...(idempotencyTtlSeconds !== undefined && { idempotencyTtlSeconds }),
      ...(remindAfterSeconds !== undefined && { remindAfterSeconds }),
      linger,
      onItemsExpired: (items) => {
        this.expired += items
      },
      onBackgroundError: (error, { step }) => this.background.push({ error, step }),
    })
    return Object.assign(queues, { wire })
  }

  /** A queue's rows that are not the record: chunks, batches, receipts. */
  async rows(queue: string, kind: 's' | 'b' | 'i'): Promise<Row[]> {
    const rows = await this.store.rows()
    return rows.filter(({ pk }) => {
      const [first, second] = (pk as string).split('#')
      return first === kind && second === queue
    })
  }

  async stored(queue: string): Promise<StoredRecord | undefined> {
    const rows = await this.store.rows()
    return rows.find(({ pk }) => pk === `q#${queue}`) as StoredRecord | undefined
  }

  async record(queue: string): Promise<QueueRecord> {
    const stored = await this.stored(queue)
    if (stored === undefined) throw new Error(`There is no queue "${queue}"`)
    return decodeRecord(stored)
  }

  async objects(queue: string): Promise<string[]> {
    return (await this.store.objects()).filter((key) => key.startsWith(`${queue}/`)).sort()
  }

  /** Bytes of the record as DynamoDB measures it. */
  async recordBytes(queue: string): Promise<number> {
    return itemSize((await this.stored(queue)) as unknown as Item)
  }

  /** Puts a record as it would be stored: a state that takes too long to reach by requests. */
  async plant(stored: StoredRecord): Promise<void> {
    const put = new PutCommand({ TableName: this.store.tableName, Item: stored })
    await this.store.dynamodb.send(put as never)
  }

  /** The record as it is without room to note where items were sealed to. */
  async forgetRuns(queue: string): Promise<void> {
    const stored = await this.stored(queue)
    if (stored === undefined) throw new Error(`There is no queue "${queue}"`)
    const lanes = Object.entries(stored.L).map(([priority, { y: _, ...lane }]) => [priority, lane])
    await this.plant({ ...stored, L: Object.fromEntries(lanes) })
  }

  close(): Promise<void> {
    return this.store.close()
  }
}

async function openEmbedded(): Promise<Store> {
  const embedded = await startQueues()
  return storeOn(embedded, embedded, () => embedded.stop())
}

type Names = Pick<TestQueues, 'tableName' | 'bucketName'>

function storeOn(
  embedded: Pick<Embedded, 'dynamodb' | 's3'>,
  { tableName, bucketName }: Names,
  close: () => Promise<void>,
): Store {
  const dynamodb = DynamoDBDocumentClient.from(embedded.dynamodb)
  return {
    tableName,
    bucketName,
    dynamodb: dynamodb as unknown as Port,
    s3: embedded.s3 as unknown as Port,
    async rows() {
      const rows: Row[] = []
      let from: Row | undefined
      do {
        const page = await dynamodb.send(
          new ScanCommand({ TableName: tableName, ...(from && { ExclusiveStartKey: from }) }),
        )
        rows.push(...(page.Items ?? []))
        from = page.LastEvaluatedKey
      } while (from !== undefined)
      return rows
    },
    async objects() {
      const page = await embedded.s3.send(new ListObjectsV2Command({ Bucket: bucketName }))
      return (page.Contents ?? []).map(({ Key }) => Key as string)
    },
    close,
  }
}

let shared: Promise<Embedded> | undefined
let stagesElsewhere = 0

function ownNames(): Names {
  stagesElsewhere += 1
  const name = `stage-${process.pid}-${Date.now()}-${stagesElsewhere}`
  return { tableName: name, bucketName: name }
}

/**
 * The store that the environment names, in the place of a simulated one: with a table and a bucket of the stage's own,
 * made by its first request. What only the simulated store can tell, the units and what was announced, it tells as
 * before: it is sent a copy of each request that the other has carried out.
 */
function elsewhere(simulated: Store): Store {
  const { tableName, bucketName } = simulated
  let opened: Promise<Store> | undefined
  const open = async (): Promise<Store> => {
    shared ??= startEmbedded()
    const embedded = await shared
    await Promise.all([embedded.createTable(tableName), embedded.createBucket(bucketName)])
    return storeOn(embedded, { tableName, bucketName }, simulated.close)
  }
  const store = (): Promise<Store> => {
    opened ??= open()
    return opened
  }
  const through = (service: 'dynamodb' | 's3'): Port => ({
    async send(command: never) {
      const answer = await (await store())[service].send(command)
      // Two that were sent at once may come here the other way round.
      await simulated[service].send(command).catch(() => {})
      return answer
    },
  })
  return {
    ...simulated,
    dynamodb: through('dynamodb'),
    s3: through('s3'),
    rows: async () => (await store()).rows(),
    objects: async () => (await store()).objects(),
  }
}

/** Opens before the tests of a file or `describe`, and closes after them. */
export function useEmbedded(): Stage {
  const stage = new Stage()
  beforeAll(async () => {
    stage.store = await openEmbedded()
  })
  afterAll(() => stage.store.close())
  return stage
}

/**
 * In memory and on one thread: where a process is frozen at each of its requests in turn. `npm run conformance` has the
 * same tests on another store, except for those whose store throttles or settles late on purpose.
 */
export function openSimulated(
  options: Pick<SimulatedStoreOptions, 'throttlesRead' | 'settlesAfterMs'> = {},
): Stage {
  const isElsewhere =
    process.env.PUSHPOP_SIMULATED_ELSEWHERE === '1' && Object.keys(options).length === 0
  const store: SimulatedStore = new SimulatedStore({
    ...options,
    ...(isElsewhere && ownNames()),
    nowMs: () => stage.clock.nowMs(),
    onChange: (change) => stage.announced.push(...announcedLines(change)),
  })
  const { dynamodb, s3 } = createSimulatedClient(store)
  const simulated: Store = {
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: dynamodb as unknown as Port,
    s3: s3 as unknown as Port,
    readUnits: () => store.meter.readUnits,
    writeUnits: () => store.meter.writeUnits,
    rows: async () => [...store.items()] as Row[],
    objects: async () => [...store.objects.keys()],
    close: async () => {},
  }
  const stage: Stage = new Stage(isElsewhere ? elsewhere(simulated) : simulated)
  return stage
}

/** A simulated stage of its own for a test, with what most of them want on it. */
export const onSimulated = () => {
  const stage = openSimulated()
  return {
    stage,
    queue: stage.queue(),
    /** A new one each time. */
    get queues() {
      return stage.engine()
    },
  }
}

/** The same with items in the queue, which `queues` has pushed. */
export async function holding(items: readonly PushItem[]) {
  const stage = openSimulated()
  return { stage, ...(await stage.holding(items)) }
}
