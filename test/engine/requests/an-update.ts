import { expect } from 'vitest'
import type { Expression } from '../../../aws/table.ts'
import type { QueueRecord } from '../../../engine/core/record.ts'
import {
  encodeLane,
  encodeLock,
  encodeReminder,
  noteName,
  type StoredRecord,
} from '../../../engine/core/stored-record.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'

export type Built = ReturnType<Expression['build']>

/** DynamoDB's limits for one expression. */
const EXPRESSION_BYTES_MAX = 4_096
const OPERATORS_MAX = 300

/** Comparisons, ANDs and functions of a condition; functions and additions of an update. */
function operatorsIn(expression: string): number {
  return expression.match(/<=|>=|=|<|>| AND | OR |\+|[a-z_]+\(/g)?.length ?? 0
}

export function expectWithinLimits({ UpdateExpression, ConditionExpression }: Built): void {
  expect(Buffer.byteLength(UpdateExpression)).toBeLessThanOrEqual(EXPRESSION_BYTES_MAX)
  expect(Buffer.byteLength(ConditionExpression)).toBeLessThanOrEqual(EXPRESSION_BYTES_MAX)
  expect(operatorsIn(ConditionExpression)).toBeLessThanOrEqual(OPERATORS_MAX)
  const additions = UpdateExpression.match(/\+|list_append/g)?.length ?? 0
  expect(additions).toBeLessThanOrEqual(OPERATORS_MAX)
}

/** Every placeholder is used, and every one that is used is defined. */
export function expectPlaceholdersUsed(built: Built): void {
  const text = `${built.UpdateExpression} ${built.ConditionExpression}`
  const used = new Set(text.match(/[#:][0-9a-z]+/g))
  const names = Object.keys(built.ExpressionAttributeNames ?? {})
  const defined = [...names, ...Object.keys(built.ExpressionAttributeValues)]
  expect([...used].sort()).toEqual(defined.sort())
}

/** A record as its row would be. */
export function storedOf(record: QueueRecord): StoredRecord {
  const stored: StoredRecord = {
    pk: `q#${record.queue}`,
    sk: 'queue',
    shard: 3,
    v: record.version,
    born: record.born,
    m: record.marks,
    L: {},
    K: {},
    F: {},
    b: record.tailBytes,
    a: record.appends,
    c: record.claims,
    n: record.lanesMade,
    i: record.inFlight,
    g: record.returns,
    room: record.room,
  }
  for (const [priority, lane] of record.lanes) stored.L[priority] = encodeLane(lane)
  for (const [lockId, lock] of record.locks) stored.K[lockId] = encodeLock(lock)
  for (const [hash, note] of record.notes) stored[noteName(hash)] = note
  if (record.moved.marks !== '') stored.km = record.moved.marks
  if (record.moved.forgotten !== 0) stored.kx = record.moved.forgotten
  if (record.sequence !== undefined) stored.sn = record.sequence
  if (record.checkAtMs !== undefined) stored.checkAt = record.checkAtMs
  if (record.near) stored.wk = 'y'
  if (record.reminder !== undefined) stored.rm = encodeReminder(record.reminder)
  if (record.work) stored.work = 'y'
  if (record.dry) stored.dry = 'y'
  if (record.notable) stored.ev = 'y'
  return stored
}

/** The row after the update, as DynamoDB would make it; throws what it would throw. */
export function applied(stored: StoredRecord, built: Built): StoredRecord {
  const store = new SimulatedStore({ nowMs: () => 0 })
  const TableName = store.tableName
  store.apply({ service: 'dynamodb', name: 'PutCommand', input: { TableName, Item: stored } })
  const Key = { pk: stored.pk, sk: stored.sk }
  store.apply({ service: 'dynamodb', name: 'UpdateCommand', input: { TableName, Key, ...built } })
  return store.item(stored.pk, stored.sk) as unknown as StoredRecord
}
