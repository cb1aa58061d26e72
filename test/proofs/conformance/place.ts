import {
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  UpdateCommand,
  type UpdateCommandInput,
  type UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import type { OpenStore } from './stores.ts'

/** A corner of a store that belongs to one case: a partition, and a shard of the indexes. */

export type Attributes = Record<string, unknown>

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

  /** The key of an object of this place. */
  objectKey(name: string): string {
    const key = `${this.pk.replaceAll('#', '/')}/${name}`
    this.objectKeys.add(key)
    return key
  }

  key(sk = 'row'): { pk: string; sk: string } {
    return { pk: this.pk, sk }
  }

  put(attributes: Attributes = {}, more: Partial<PutCommandInput> = {}) {
    const Item = { ...this.key(), ...attributes }
    return this.dynamodb.send(new PutCommand({ TableName: this.table, Item, ...more }))
  }

  async get(sk = 'row'): Promise<Attributes | undefined> {
    const { Item } = await this.dynamodb.send(
      new GetCommand({ TableName: this.table, Key: this.key(sk), ConsistentRead: true }),
    )
    return Item
  }

  /** The row without its key, for comparing with what a case says. */
  async attributes(sk = 'row'): Promise<Attributes | undefined> {
    const item = await this.get(sk)
    if (item === undefined) return undefined
    const { pk: _pk, sk: _sk, ...attributes } = item
    return attributes
  }

  update(input: Partial<UpdateCommandInput>): Promise<UpdateCommandOutput> {
    return this.dynamodb.send(
      new UpdateCommand({ TableName: this.table, Key: this.key(), ...input }),
    )
  }

  query(input: Partial<QueryCommandInput>): Promise<QueryCommandOutput> {
    return this.dynamodb.send(new QueryCommand({ TableName: this.table, ...input }))
  }

  async clean(): Promise<void> {
    await this.store.clean(this.partitionKeys, this.objectKeys)
  }
}

/** Leaves parameters out that a case does not give: DynamoDB refuses empty ones. */
export function expressionInput(given: {
  readonly names?: Record<string, string> | undefined
  readonly values?: Attributes | undefined
}): Pick<UpdateCommandInput, 'ExpressionAttributeNames' | 'ExpressionAttributeValues'> {
  return {
    ...(given.names && { ExpressionAttributeNames: given.names }),
    ...(given.values && { ExpressionAttributeValues: given.values }),
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
