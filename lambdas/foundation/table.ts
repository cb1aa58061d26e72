// The table as plain data, shared by the CDK stack, the stack on one machine and the tests, so
// that no two of them can disagree about a key.

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
