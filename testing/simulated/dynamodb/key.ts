import { itemError, validationError } from './errors.ts'
import { textBytes } from './item-size.ts'
import type { TableShape } from './table.ts'
import type { Item } from './value.ts'

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

export function keyOfItem(item: Item): Key {
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
export function checkIndexKeys(shape: TableShape, item: Item): void {
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
