import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Item, Value } from './value.ts'

function toRaw(value: Value): AttributeValue {
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: value.toString() }
    case 'boolean':
      return { BOOL: value }
    default:
      if (value === null) return { NULL: true }
      if (Array.isArray(value)) return { L: value.map(toRaw) }
      if (value instanceof Uint8Array) return { B: value }
      return { M: toRawItem(value as Item) }
  }
}

export function toRawItem(item: Item): Record<string, AttributeValue> {
  const raw: Record<string, AttributeValue> = {}
  for (const name of Object.keys(item)) raw[name] = toRaw(item[name] as Value)
  return raw
}
