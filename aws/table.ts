// The table as plain data, which the CDK stack, the stack on one machine and the tests share, so that no two of them
// can disagree about a key; and how an update of a row is written.

/** The key of one row. */
export type Key = { readonly pk: string; readonly sk: string }
export type Row = Record<string, unknown>

export type TableKey = { readonly name: string; readonly type: 'S' | 'N' }

export type TableIndex = {
  readonly name: string
  readonly partitionKey: TableKey
  readonly sortKey: TableKey
}

export type TableDefinition = {
  readonly partitionKey: TableKey
  readonly sortKey: TableKey
  /** Receipts have it. DynamoDB deletes days late, so nothing may rely on this to end a lock. */
  readonly timeToLiveAttribute: string
  /** Sparse, and keys only: a write that changes none of these keys costs nothing here. */
  readonly indexes: readonly TableIndex[]
}

/** Which queues the sweeper has to look at, earliest first: rows that have a `checkAt`. */
export const CHECK_INDEX = 'check'

/** All queues, by name: rows that have a `shard`, whose keys never change after creation. */
export const DIRECTORY_INDEX = 'directory'

const pk: TableKey = { name: 'pk', type: 'S' }
const sk: TableKey = { name: 'sk', type: 'S' }
const shard: TableKey = { name: 'shard', type: 'N' }
const checkAt: TableKey = { name: 'checkAt', type: 'N' }

export const tableDefinition: TableDefinition = {
  partitionKey: pk,
  sortKey: sk,
  timeToLiveAttribute: 'ttl',
  indexes: [
    { name: CHECK_INDEX, partitionKey: shard, sortKey: checkAt },
    { name: DIRECTORY_INDEX, partitionKey: shard, sortKey: pk },
  ],
}

/** Collects the parts of one update: names and values get short placeholders, in order of use. */
export class Expression {
  readonly #names = new Map<string, string>()
  readonly #values: unknown[] = []
  readonly sets: string[] = []
  readonly removes: string[] = []
  readonly adds: string[] = []
  readonly conditions: string[] = []

  /** A placeholder for a name that is not ours to choose (priority, lock id) or is reserved. */
  name(name: string | number): string {
    const text = String(name)
    let placeholder = this.#names.get(text)
    if (placeholder === undefined) {
      placeholder = `#${this.#names.size.toString(36)}`
      this.#names.set(text, placeholder)
    }
    return placeholder
  }

  value(value: unknown): string {
    this.#values.push(value)
    return `:${(this.#values.length - 1).toString(36)}`
  }

  set(path: string, value: unknown): void {
    this.sets.push(`${path}=${this.value(value)}`)
  }

  /** Adds to a counter; nothing where there is nothing to add. */
  add(path: string, amount: number): void {
    if (amount !== 0) this.adds.push(`${path} ${this.value(amount)}`)
  }

  condition(clause: string): void {
    this.conditions.push(clause)
  }

  build(): {
    UpdateExpression: string
    ConditionExpression: string
    ExpressionAttributeNames?: Record<string, string>
    ExpressionAttributeValues: Record<string, unknown>
  } {
    const clauses: string[] = []
    if (this.sets.length > 0) clauses.push(`SET ${this.sets.join(',')}`)
    if (this.removes.length > 0) clauses.push(`REMOVE ${this.removes.join(',')}`)
    if (this.adds.length > 0) clauses.push(`ADD ${this.adds.join(',')}`)
    const names: Record<string, string> = {}
    for (const [name, placeholder] of this.#names) names[placeholder] = name
    const values: Record<string, unknown> = {}
    for (const [index, value] of this.#values.entries()) values[`:${index.toString(36)}`] = value
    return {
      UpdateExpression: clauses.join(' '),
      ConditionExpression: this.conditions.join(' AND '),
      ...(this.#names.size > 0 && { ExpressionAttributeNames: names }),
      ExpressionAttributeValues: values,
    }
  }
}
