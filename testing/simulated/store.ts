// DynamoDB and S3 in memory, one table and one bucket. `apply` carries a request out at once and answers or throws as
// the SDK would: no time passes, nothing fails by chance, nothing is lost. Delay, loss and failure are the network's
// (`network.ts`). What no request of PushPop has is refused: to ignore it would be a lie.

import type {
  DeleteObjectsCommandInput,
  GetObjectCommandInput,
  PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import type {
  BatchGetCommandInput,
  BatchWriteCommandInput,
  DeleteCommandInput,
  GetCommandInput,
  PutCommandInput,
  QueryCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { tableDefinition } from '../../aws/table.ts'
import { Database, type DatabaseOptions, type Meter } from './dynamodb/database.ts'
import {
  batchGet,
  batchWrite,
  deleteItem,
  getItem,
  putItem,
  updateItem,
} from './dynamodb/item-requests.ts'
import { query } from './dynamodb/query.ts'
import { Transactions } from './dynamodb/transaction.ts'
import type { Item } from './dynamodb/values.ts'
import { Objects } from './objects.ts'

export interface SimulatedRequest {
  readonly service: 'dynamodb' | 's3'
  /** The command's class: `UpdateCommand`, `GetObjectCommand`, … */
  readonly name: string
  readonly input: object
}

type Handler = (input: object, sentMs: number | undefined) => unknown

export interface SimulatedStoreOptions extends Partial<DatabaseOptions> {
  readonly tableName?: string | undefined
  readonly bucketName?: string | undefined
}

export class SimulatedStore {
  readonly tableName: string
  readonly bucketName: string
  readonly objects: Objects
  private readonly database: Database
  private readonly transactions: Transactions
  private readonly handlers: ReadonlyMap<string, Handler>

  constructor(options: SimulatedStoreOptions = {}) {
    const shape = { ...tableDefinition, name: options.tableName ?? 'simulated' }
    this.tableName = shape.name
    this.bucketName = options.bucketName ?? 'simulated'
    this.database = new Database(shape, { ...options, nowMs: options.nowMs ?? Date.now })
    this.objects = new Objects(this.bucketName)
    this.transactions = new Transactions(this.database)
    this.handlers = handlersOf(this.database, this.objects, this.transactions)
  }

  /** Carries the request, sent at that time, out now; answers or throws what the SDK would. */
  apply(request: SimulatedRequest, sentMs?: number): unknown {
    const handle = this.handlers.get(`${request.service} ${request.name}`)
    if (handle === undefined) {
      throw new Error(`Cannot simulate ${request.name} because the store does not know it`)
    }
    refuseUnknown(request.input)
    return handle(request.input, sentMs)
  }

  nowMs(): number {
    return this.database.nowMs()
  }

  /**
   * A transaction as it is on AWS: it holds its items from now until the returned function is called,
   * which carries it out. Throws where it is cancelled.
   */
  begin(request: SimulatedRequest): () => unknown {
    if (request.name !== 'TransactWriteCommand') {
      throw new Error(`Cannot begin a ${request.name} because only transactions take time`)
    }
    return this.transactions.begin(request.input as TransactWriteCommandInput)
  }

  /** Deletes the rows whose `ttl` has passed; returns how many. */
  expireTtl(nowSeconds: number): number {
    const { table, shape } = this.database
    const expired = [...table.rowsWithTtl()].filter(
      (row) => (row.item?.[shape.timeToLiveAttribute] as number) <= nowSeconds,
    )
    for (const row of expired) this.database.expire(row)
    return expired.length
  }

  get meter(): Readonly<Meter> {
    return this.database.meter
  }

  /** When plain reads see all that transactions have written so far. */
  get settledAtMs(): number {
    return this.database.settledAtMs
  }

  /** Every row as it is now, for checks between requests. */
  items(): Generator<Item> {
    return this.database.table.items()
  }

  item(pk: string, sk: string): Item | undefined {
    return this.database.table.row(pk, sk)?.item
  }
}

/** PushPop never sends these; to ignore them would be a lie. */
const unknown = ['FilterExpression', 'ProjectionExpression', 'Select']

function refuseUnknown(input: object): void {
  const found = unknown.find((name) => name in input)
  if (found === undefined) return
  throw new Error(`Cannot simulate ${found} because the store does not know it`)
}

function handlersOf(
  database: Database,
  objects: Objects,
  transactions: Transactions,
): ReadonlyMap<string, Handler> {
  return new Map<string, Handler>([
    ['dynamodb GetCommand', (input) => getItem(database, input as GetCommandInput)],
    ['dynamodb PutCommand', (input) => putItem(database, input as PutCommandInput)],
    ['dynamodb UpdateCommand', (input) => updateItem(database, input as UpdateCommandInput)],
    ['dynamodb DeleteCommand', (input) => deleteItem(database, input as DeleteCommandInput)],
    [
      'dynamodb QueryCommand',
      (input, sentMs) => query(database, input as QueryCommandInput, sentMs),
    ],
    [
      'dynamodb BatchGetCommand',
      (input, sentMs) => batchGet(database, input as BatchGetCommandInput, sentMs),
    ],
    [
      'dynamodb BatchWriteCommand',
      (input) => batchWrite(database, input as BatchWriteCommandInput),
    ],
    [
      'dynamodb TransactWriteCommand',
      (input) => transactions.write(input as TransactWriteCommandInput),
    ],
    ['s3 PutObjectCommand', (input) => objects.put(input as PutObjectCommandInput)],
    ['s3 GetObjectCommand', (input) => objects.get(input as GetObjectCommandInput)],
    ['s3 DeleteObjectsCommand', (input) => objects.deleteMany(input as DeleteObjectsCommandInput)],
  ])
}
