// One write to one item, in two steps: `prepare…` refuses what is wrong with the request itself, `planWrite` looks at
// the item and says what the write would make of it. Nothing is changed here. Also what may be a key.

import { itemError, validationError } from './errors.ts'
import type { Condition } from './expression/conditions.ts'
import {
  checkPlaceholders,
  expressions,
  type Parsed,
  readPlaceholders,
} from './expression/expressions.ts'
import type { Values } from './expression/parser.ts'
import type { Update } from './expression/updates.ts'
import type { TableShape } from './table.ts'
import { attributeSize, type Item, ingestItem, itemSize, textBytes } from './values.ts'

export interface PreparedWrite {
  readonly key: Key
  readonly condition: Parsed<Condition> | undefined
  readonly values: Values
  readonly change: Change
  readonly returnsItemOnFailure: boolean
}

type Change =
  | { readonly kind: 'put'; readonly item: Item; readonly size: number }
  | { readonly kind: 'update'; readonly update: Update | undefined }
  | { readonly kind: 'delete' }
  | { readonly kind: 'check' }

export type WritePlan =
  | { readonly kind: 'refused'; readonly current: Stored }
  | { readonly kind: 'write'; readonly old: Stored; readonly next: Stored }

export interface Stored {
  readonly item: Item | undefined
  readonly size: number
}

interface WriteInput {
  readonly ConditionExpression?: string | undefined
  readonly UpdateExpression?: string | undefined
  readonly ExpressionAttributeNames?: Record<string, string> | undefined
  readonly ExpressionAttributeValues?: Record<string, unknown> | undefined
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD' | 'NONE' | undefined
}

const itemBytesMax = 400 * 1024

const emptyItem: Item = Object.freeze({})

export function preparePut(
  input: WriteInput & { readonly Item?: Record<string, unknown> | undefined },
  shape: TableShape,
): PreparedWrite {
  if (input.Item === undefined) throw validationError('The parameter Item is required')
  const item = ingestItem(input.Item)
  const key = keyOfItem(item)
  checkIndexKeys(shape, item)
  const size = itemSize(item)
  if (size > itemBytesMax) {
    throw validationError('Item size has exceeded the maximum allowed size')
  }
  return prepare(input, key, { kind: 'put', item, size })
}

interface KeyedInput extends WriteInput {
  readonly Key?: Record<string, unknown> | undefined
}

export function prepareDelete(input: KeyedInput): PreparedWrite {
  return prepare(input, readKey(input.Key), { kind: 'delete' })
}

export function prepareCheck(input: KeyedInput): PreparedWrite {
  if (input.ConditionExpression === undefined) {
    throw validationError('The parameter ConditionExpression is required')
  }
  return prepare(input, readKey(input.Key), { kind: 'check' })
}

export function prepareUpdate(input: KeyedInput): PreparedWrite {
  const key = readKey(input.Key)
  const { condition, names, values } = readCondition(input)
  const expression = input.UpdateExpression
  const parsed = expression === undefined ? undefined : expressions.update.get(expression, names)
  refuseStrayPlaceholders(input, condition !== undefined || parsed !== undefined)
  checkPlaceholders({ names, values }, [condition, parsed])
  const update = parsed?.meaning
  for (const name of update?.topLevelNames ?? []) {
    if (name === 'pk' || name === 'sk') {
      throw validationError(
        `One or more parameter values were invalid: Cannot update attribute ${name}. ` +
          'This attribute is part of the key',
      )
    }
  }
  const change: Change = { kind: 'update', update }
  return { key, condition, values, change, returnsItemOnFailure: returnsOnFailure(input) }
}

function prepare(input: WriteInput, key: Key, change: Change): PreparedWrite {
  const { condition, names, values } = readCondition(input)
  refuseStrayPlaceholders(input, condition !== undefined)
  checkPlaceholders({ names, values }, [condition])
  return { key, condition, values, change, returnsItemOnFailure: returnsOnFailure(input) }
}

function readCondition(input: WriteInput) {
  const { names, values } = readPlaceholders(input)
  const expression = input.ConditionExpression
  const condition =
    expression === undefined ? undefined : expressions.condition.get(expression, names)
  return { condition, names, values }
}

function returnsOnFailure(input: WriteInput): boolean {
  return input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD'
}

function refuseStrayPlaceholders(input: WriteInput, hasExpression: boolean): void {
  if (hasExpression) return
  for (const parameter of ['ExpressionAttributeNames', 'ExpressionAttributeValues'] as const) {
    if (input[parameter] !== undefined) {
      throw validationError(`${parameter} can only be specified when using expressions`)
    }
  }
}

/** Throws the ValidationExceptions that only the item can show. */
export function planWrite(prepared: PreparedWrite, old: Stored, shape: TableShape): WritePlan {
  const { condition, values, change } = prepared
  if (condition !== undefined && !condition.meaning(old.item ?? emptyItem, values)) {
    return { kind: 'refused', current: old }
  }
  switch (change.kind) {
    case 'put':
      return { kind: 'write', old, next: change }
    case 'delete':
      return { kind: 'write', old, next: { item: undefined, size: 0 } }
    case 'check':
      return { kind: 'write', old, next: old }
    case 'update':
      return { kind: 'write', old, next: updated(prepared.key, change.update, old, values, shape) }
  }
}

function updated(
  key: Key,
  update: Update | undefined,
  old: Stored,
  values: Values,
  shape: TableShape,
): Stored {
  const base = old.item ?? Object.freeze({ pk: key.pk, sk: key.sk })
  const baseSize =
    old.item === undefined ? attributeSize('pk', key.pk) + attributeSize('sk', key.sk) : old.size
  if (update === undefined) return { item: base, size: baseSize }
  if (old.item === undefined && update.removesOnly) return old
  const { item, grownBytes } = update.apply(base, values)
  const size = baseSize + grownBytes
  if (size > itemBytesMax) {
    throw validationError('Item size to update has exceeded the maximum allowed size')
  }
  checkIndexKeys(shape, item)
  return { item, size }
}

export interface Key {
  readonly pk: string
  readonly sk: string
}

const pkBytesMax = 2048
const skBytesMax = 1024

export function readKey(key: Readonly<Record<string, unknown>> | undefined): Key {
  if (key === undefined) throw itemError('The parameter Key is required but was not present')
  for (const name of Object.keys(key)) {
    if (name !== 'pk' && name !== 'sk') throw schemaMismatch()
  }
  const { pk, sk } = key
  if (typeof pk !== 'string' || typeof sk !== 'string') throw schemaMismatch()
  checkKeyText('pk', pk)
  checkKeyText('sk', sk)
  return { pk, sk }
}

function keyOfItem(item: Item): Key {
  const { pk, sk } = item
  return { pk: keyAttribute('pk', pk), sk: keyAttribute('sk', sk) }
}

function keyAttribute(name: 'pk' | 'sk', value: unknown): string {
  if (value === undefined) {
    throw itemError(
      `One or more parameter values were invalid: Missing the key ${name} in the item`,
    )
  }
  if (typeof value !== 'string') {
    throw itemError(
      `One or more parameter values were invalid: Type mismatch for key ${name} expected: S`,
    )
  }
  checkKeyText(name, value)
  return value
}

function checkKeyText(name: 'pk' | 'sk', value: string): void {
  if (value === '') throw emptyKey(name)
  checkKeySize(name === 'sk', value)
}

/** Of the table or of an index. */
function checkKeySize(isSortKey: boolean, value: string): void {
  const [part, bytesMax] = isSortKey ? ['rangekey', skBytesMax] : ['hashkey', pkBytesMax]
  if (value.length * 3 <= bytesMax || textBytes(value) <= bytesMax) return
  throw itemError(
    `One or more parameter values were invalid: Size of ${part} has exceeded the maximum size limit of ${bytesMax} bytes`,
  )
}

function emptyKey(name: string): Error {
  return validationError(
    'One or more parameter values are not valid. The AttributeValue for a key attribute cannot ' +
      `contain an empty string value. Key: ${name}`,
  )
}

export function schemaMismatch(): Error {
  return itemError('The provided key element does not match the schema')
}

/** An index key may be missing (the index is sparse) but not of another type, nor empty, nor too long. */
function checkIndexKeys(shape: TableShape, item: Item): void {
  for (const index of shape.indexes) {
    for (const { name, type } of [index.partitionKey, index.sortKey]) {
      const value = item[name]
      if (value === undefined) continue
      if (typeof value !== (type === 'S' ? 'string' : 'number')) {
        throw itemError(
          `One or more parameter values were invalid: Type mismatch for Index Key ${name} ` +
            `Expected: ${type} IndexName: ${index.name}`,
        )
      }
      if (value === '') throw emptyKey(name)
      const isIn = index.partitionKey.name in item && index.sortKey.name in item
      if (isIn && typeof value === 'string') checkKeySize(name === index.sortKey.name, value)
    }
  }
}
