// Values of JavaScript as DynamoDB's JSON has them, and back: as the SDK's document client does it with its
// own settings, in one pass each way. A test compares the two.

import type { AttributeValue } from '@aws-sdk/client-dynamodb'

type Attributes = Record<string, AttributeValue>
type Wire = Readonly<Record<string, unknown>>

/** Attributes of an item. It leaves out those that are `undefined`, but only on this level. */
export function toAttributes(item: object): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(item)) {
    if (value !== undefined) put(attributes, name, toAttribute(value))
  }
  return attributes
}

/** Bytes become base64, as in the body of a request. */
function toAttribute(value: unknown): AttributeValue {
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: digitsOf(value) }
    case 'boolean':
      return { BOOL: value }
    case 'bigint':
      return { N: value.toString() }
    case 'object':
      return value === null ? { NULL: true } : ofObject(value)
    default:
      throw new Error(`Cannot store a value of the type ${typeof value}`)
  }
}

function ofObject(value: object): AttributeValue {
  if (Array.isArray(value)) return { L: value.map(toAttribute) }
  if (value instanceof Set) return ofSet([...value])
  if (value instanceof Map) return { M: ofEntries(value) }
  const bytes = bytesOf(value)
  if (bytes !== undefined) return { B: base64(bytes) } as unknown as AttributeValue
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || value.constructor?.name === 'Object') {
    return { M: ofEntries(Object.entries(value)) }
  }
  // The SDK's own class for numbers that JavaScript cannot represent.
  if (hasOwnForm(value)) return value.toAttributeValue()
  throw new Error(`Cannot store an object of the class ${value.constructor?.name}`)
}

function ofEntries(entries: Iterable<[string, unknown]>): Attributes {
  const map: Attributes = {}
  for (const [name, value] of entries) put(map, name, toAttribute(value))
  return map
}

function ofSet(members: readonly unknown[]): AttributeValue {
  if (members.length === 0) throw new Error('Cannot store an empty set')
  const kinds = new Set<string>()
  const texts = members.map((member) => {
    const [kind = '', text] = Object.entries(toAttribute(member))[0] ?? []
    kinds.add(kind)
    return text as string
  })
  const [kind = ''] = kinds
  if (kinds.size > 1 || !['S', 'N', 'B'].includes(kind)) {
    throw new Error('Cannot store a set of anything but texts, numbers or bytes')
  }
  return { [`${kind}S`]: texts } as unknown as AttributeValue
}

function digitsOf(number: number): string {
  if (!Number.isFinite(number)) throw new Error(`Cannot store the number ${number}`)
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw new Error(`Cannot store the number ${number} because it may not be exact`)
  }
  return String(number)
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!ArrayBuffer.isView(value)) return undefined
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

type OwnForm = { toAttributeValue(): AttributeValue }
const hasOwnForm = (value: object): value is OwnForm =>
  'toAttributeValue' in value && typeof value.toAttributeValue === 'function'

/** The values of an item; its bytes as bytes, or as the base64 of an answer. */
export function fromAttributes(attributes: object): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const name of Object.keys(attributes)) {
    put(item, name, fromAttribute((attributes as Record<string, Wire>)[name] as Wire))
  }
  return item
}

function fromAttribute(attribute: Wire): unknown {
  for (const kind in attribute) {
    const value = attribute[kind]
    if (value === undefined) continue
    switch (kind) {
      case 'S':
      case 'BOOL':
        return value
      case 'N':
        return numberOf(value as string)
      case 'L':
        return (value as Wire[]).map(fromAttribute)
      case 'M':
        return fromAttributes(value as object)
      case 'NULL':
        return null
      case 'B':
        return fromBase64(value)
      case 'SS':
        return new Set(value as string[])
      case 'NS':
        return new Set((value as string[]).map(numberOf))
      case 'BS':
        return new Set((value as unknown[]).map(fromBase64))
      default:
        throw new Error(`Cannot read a value of the kind "${kind}"`)
    }
  }
  throw new Error('Cannot read a value without a kind')
}

function numberOf(digits: string): number | bigint {
  const number = Number(digits)
  return Math.abs(number) > Number.MAX_SAFE_INTEGER ? BigInt(digits) : number
}

const fromBase64 = (value: unknown): unknown =>
  typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value

/** Attributes of an answer as the SDK hands them over, which has bytes where the answer has base64. */
export function withBytes(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withBytes)
  if (typeof part !== 'object' || part === null) return part
  const copy: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(part)) {
    // An attribute called B is an object, never a text or a list.
    if (name === 'B' && typeof value === 'string') copy.B = fromBase64(value)
    else if (name === 'BS' && Array.isArray(value)) copy.BS = value.map(fromBase64)
    else put(copy, name, withBytes(value))
  }
  return copy
}

/** Callers may choose any name, and this one would set the prototype. */
function put<T>(map: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') map[name] = value
  else
    Object.defineProperty(map, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
}
