import {
  BatchGetCommand,
  type BatchGetCommandInput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  type DeleteCommandInput,
  type DeleteCommandOutput,
  GetCommand,
  type GetCommandInput,
  type GetCommandOutput,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
  type UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import { type Expression, name, sent, type Writable, x } from './expression.ts'
import type { OpenStore } from './stores.ts'

/** A corner of a store that belongs to one case: a partition, and a shard of the indexes. */

export type Attributes = Record<string, unknown>
export type Actions = NonNullable<TransactWriteCommandInput['TransactItems']>
export type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string]
type Update = NonNullable<Actions[number]['Update']>
type KeysRequest = NonNullable<BatchGetCommandInput['RequestItems']>[string]

let placesMade = 0
const run = `${process.pid.toString(36)}${Date.now().toString(36)}`

export class Place {
  readonly store: OpenStore
  readonly table: string
  readonly pk: string
  readonly shard: number
  private readonly partitionKeys = new Set<string>()
  private readonly objectKeys = new Set<string>()

  constructor(store: OpenStore) {
    placesMade++
    this.store = store
    this.table = store.table
    this.pk = `conformance#${run}#${placesMade}`
    this.shard = (Date.now() % 1_000_000_000) * 1000 + placesMade
    this.partitionKeys.add(this.pk)
  }

  get dynamodb(): OpenStore['dynamodb'] {
    return this.store.dynamodb
  }

  /** Another partition of this place. */
  partition(suffix: string): string {
    const pk = `${this.pk}#${suffix}`
    this.partitionKeys.add(pk)
    return pk
  }

  /** Another, whose key has so many bytes. */
  partitionOf(bytes: number): string {
    return this.partition(text(bytes - this.pk.length - 1))
  }

  /** The key of an object of this place. */
  objectKey(name: string): string {
    const key = `${this.pk.replaceAll('#', '/')}/${name}`
    this.objectKeys.add(key)
    return key
  }

  key(sk = 'row'): { pk: string; sk: string } {
    return { pk: this.pk, sk }
  }

  put(attributes: Attributes = {}, more: Partial<Writable<PutCommandInput>> = {}) {
    const Item = { ...this.key(), ...attributes }
    return this.dynamodb.send(
      new PutCommand(sent<PutCommandInput>({ TableName: this.table, Item, ...more })),
    )
  }

  read(sk = 'row', more: Partial<GetCommandInput> = {}): Promise<GetCommandOutput> {
    const input = { TableName: this.table, Key: this.key(sk), ConsistentRead: true, ...more }
    return this.dynamodb.send(new GetCommand(input))
  }

  async get(sk = 'row'): Promise<Attributes | undefined> {
    return (await this.read(sk)).Item
  }

  /** The row without its key, for comparing with what a case says. */
  async attributes(sk = 'row'): Promise<Attributes | undefined> {
    const item = await this.get(sk)
    if (item === undefined) return undefined
    const { pk: _pk, sk: _sk, ...attributes } = item
    return attributes
  }

  update(input: Partial<Writable<UpdateCommandInput>>): Promise<UpdateCommandOutput> {
    const whole = sent<UpdateCommandInput>({ TableName: this.table, Key: this.key(), ...input })
    return this.dynamodb.send(new UpdateCommand(whole))
  }

  delete(more: Partial<Writable<DeleteCommandInput>> = {}): Promise<DeleteCommandOutput> {
    const whole = sent<DeleteCommandInput>({ TableName: this.table, Key: this.key(), ...more })
    return this.dynamodb.send(new DeleteCommand(whole))
  }

  /** Asks for this place's partition unless `more` says otherwise. */
  query(more: Partial<Writable<QueryCommandInput>> = {}): Promise<QueryCommandOutput> {
    const KeyConditionExpression = x`pk = ${this.pk}`
    const input = { TableName: this.table, KeyConditionExpression, ...more }
    return this.dynamodb.send(new QueryCommand(sent<QueryCommandInput>(input)))
  }

  /** Asks an index for this place's shard. */
  inIndex(
    IndexName: 'check' | 'directory',
    more: Partial<Writable<QueryCommandInput>> = {},
  ): Promise<QueryCommandOutput> {
    const KeyConditionExpression = x`${name('shard')} = ${this.shard}`
    return this.query({ IndexName, KeyConditionExpression, ...more })
  }

  transact(actions: Actions, more: Partial<TransactWriteCommandInput> = {}) {
    return this.dynamodb.send(new TransactWriteCommand({ TransactItems: actions, ...more }))
  }

  updateAction(sk: string, UpdateExpression: Expression): Actions[number] {
    const input = { TableName: this.table, Key: this.key(sk), UpdateExpression }
    return { Update: sent<Update>(input) }
  }

  batchWrite(requests: WriteRequests, more: Partial<BatchWriteCommandInput> = {}) {
    const RequestItems = { [this.table]: requests }
    return this.dynamodb.send(new BatchWriteCommand({ RequestItems, ...more }))
  }

  batchGet(request: KeysRequest, more: Partial<BatchGetCommandInput> = {}) {
    const RequestItems = { [this.table]: request }
    return this.dynamodb.send(new BatchGetCommand({ RequestItems, ...more }))
  }

  async clean(): Promise<void> {
    await this.store.clean(this.partitionKeys, this.objectKeys)
  }
}

/** The name of the error a request ends with, or `ok`. */
export async function outcomeOf(request: Promise<unknown>): Promise<string> {
  try {
    await request
    return 'ok'
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

export async function errorOf(request: Promise<unknown>): Promise<Error> {
  try {
    await request
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('Expected the request to fail, but it succeeded')
}

export const text = (bytes: number): string => 'x'.repeat(bytes)
