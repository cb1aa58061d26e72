import { CHECK_INDEX, DIRECTORY_INDEX } from '../../aws/table.ts'
import type { FunctionName } from '../../lambdas/runtime/names.ts'

/** What a user of the engine does to the table and the bucket, as plain data. */
export type StorageAccess = {
  readonly table: readonly string[]
  /** Indexes that are queried: for IAM, `table/…/index/<name>` is a separate resource. */
  readonly indexes?: readonly string[]
  readonly objects?: readonly string[]
}

const readItems = ['dynamodb:GetItem', 'dynamodb:Query']
const change = ['dynamodb:UpdateItem']
/** Rows of batches and chunks, written and deleted in batches; `PutItem` for one, and for a record. */
const writeRows = ['dynamodb:PutItem', 'dynamodb:BatchWriteItem']
const readObjects = ['s3:GetObject']
const writeObjects = ['s3:PutObject', 's3:DeleteObject']

/**
 * A push may seal a segment, and one that needs room for a lane does some housekeeping, so a push may do
 * nearly all that housekeeping may.
 */
const moveItems = {
  table: [...readItems, ...change, ...writeRows],
  objects: [...readObjects, ...writeObjects],
} as const satisfies StorageAccess

/**
 * Every function's rights. IAM has no action for a transaction: it needs those of the writes in it.
 * No function scans the table or lists the bucket. The sweeper forgets empty queues, Manage deletes schedules, and Pop,
 * Wake and the sweeper join due items: these alone may delete rows by their conditions.
 * `test/infrastructure/engine-rights.test.ts` runs the engine under exactly these.
 */
export const storageAccess = {
  Push: moveItems,
  /** A pop joins due items first, which is a push and deletes their rows; housekeeping trims what a pop took. */
  Pop: { ...moveItems, table: [...moveItems.table, 'dynamodb:DeleteItem'] },
  /** Dead-lettering moves items to another queue, which is a push. */
  Settle: moveItems,
  Inspect: {
    table: [...readItems, 'dynamodb:BatchGetItem'],
    indexes: [DIRECTORY_INDEX],
    objects: readObjects,
  },
  /** Redrive moves items, as dead-lettering does; a schedule is put and deleted. */
  Manage: { ...moveItems, table: [...moveItems.table, 'dynamodb:DeleteItem'] },
  /** A key is one item, made by an update; the patterns and the secret of tickets are put. */
  Rate: { table: ['dynamodb:GetItem', ...change, 'dynamodb:PutItem'] },
  ReturnExpiredLocks: {
    table: [...moveItems.table, 'dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
    indexes: [CHECK_INDEX, DIRECTORY_INDEX],
    objects: moveItems.objects,
  },
  /**
   * It joins due items and pushes for schedules, and looks up the queues whose timers end together, as the sweeper
   * does.
   */
  Wake: {
    table: [...moveItems.table, 'dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
    indexes: [CHECK_INDEX],
    objects: moveItems.objects,
  },
  Housekeep: moveItems,
  Health: undefined,
  /** A push, by another way: of several keys together it looks up the receipts together. */
  ApplyInbox: { ...moveItems, table: [...moveItems.table, 'dynamodb:BatchGetItem'] },
} as const satisfies Record<FunctionName | 'ApplyInbox' | 'Wake', StorageAccess | undefined>
