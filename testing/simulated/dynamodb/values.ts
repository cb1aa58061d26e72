// Attribute values: what may be one, which are equal, how they are ordered, and how DynamoDB measures them.

import { validationError } from './errors.ts'

/**
 * Values as the document client hands them over. Inside the store they are immutable: the store copies
 * and freezes each value once, an update shares the parts it does not change, and a read returns the
 * stored value itself (bytes cannot be frozen; nobody writes to them).
 */
export type Value =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly Value[]
  | { readonly [name: string]: Value }

export type Item = { readonly [name: string]: Value }
type ValueType = 'S' | 'N' | 'BOOL' | 'NULL' | 'B' | 'L' | 'M'

/** An attribute's value may be nested so deep that the item is 32 levels deep. */
const depthMax = 31

export function typeOf(value: Value): ValueType {
  switch (typeof value) {
    case 'string':
      return 'S'
    case 'number':
      return 'N'
    case 'boolean':
      return 'BOOL'
    default:
      if (value === null) return 'NULL'
      if (Array.isArray(value)) return 'L'
      return value instanceof Uint8Array ? 'B' : 'M'
  }
}

export function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value)
}

export function isMap(value: Value | undefined): value is Item {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  )
}

/** Copies what a caller passes, refusing what the document client would refuse to marshal. */
export function ingest(value: unknown, depth = 0): Value {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return ingestNumber(value)
    case 'object':
      if (value === null) return null
      if (depth >= depthMax) {
        throw validationError('Nesting Levels have exceeded supported limits')
      }
      if (Array.isArray(value)) return ingestList(value, depth)
      if (value instanceof Uint8Array) return new Uint8Array(value)
      return ingestMap(value, depth)
    case 'undefined':
      throw new Error(
        'Pass options.removeUndefinedValues=true to remove undefined values from map/array/set.',
      )
    default:
      throw new Error(`Unsupported type passed: ${String(value)}.`)
  }
}

function ingestNumber(value: number): number {
  if (!Number.isFinite(value)) {
    throw new Error(`Special numeric value ${value} is not allowed`)
  }
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new Error(`Number ${value} is greater than Number.MAX_SAFE_INTEGER.`)
  }
  if (value !== 0 && Math.abs(value) < 1e-130) {
    throw validationError('Number underflow. Attempting to store a number with magnitude too small')
  }
  return value + 0 // -0 is marshalled as 0
}

function ingestList(list: readonly unknown[], depth: number): readonly Value[] {
  const copy: Value[] = []
  for (const entry of list) {
    if (typeof entry !== 'function') copy.push(ingest(entry, depth + 1))
  }
  return Object.freeze(copy)
}

function ingestMap(map: object, depth: number): Item {
  const prototype: unknown = Object.getPrototypeOf(map)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = map.constructor?.name
    if (name !== 'Object') throw new Error(`Unsupported type passed: ${name}.`)
  }
  const copy: Record<string, Value> = {}
  for (const [name, entry] of Object.entries(map)) {
    if (typeof entry !== 'function') copy[name] = ingest(entry, depth + 1)
  }
  return Object.freeze(copy)
}

export function ingestItem(item: object): Item {
  const copy: Record<string, Value> = {}
  for (const [name, entry] of Object.entries(item)) {
    if (name === '') throw validationError('An attribute name may not be empty')
    // At the top the document client drops what is undefined, further down it refuses it.
    if (entry !== undefined) copy[name] = ingest(entry)
  }
  return Object.freeze(copy)
}

export function equals(a: Value, b: Value): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (isList(a)) {
    if (!isList(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) {
      if (!equals(a[i] as Value, b[i] as Value)) return false
    }
    return true
  }
  if (isList(b)) return false
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0
  }
  return equalMaps(a, b)
}

function equalMaps(a: Item, b: Item): boolean {
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  for (const name of names) {
    const other = b[name]
    if (other === undefined || !equals(a[name] as Value, other)) return false
  }
  return true
}

/** Order within one type; undefined where DynamoDB has none (then every comparison is false). */
export function compare(a: Value, b: Value): number | undefined {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : undefined
  if (typeof a === 'string') return typeof b === 'string' ? compareStrings(a, b) : undefined
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Buffer.compare(a, b) : undefined
  return undefined
}

/** Strings are ordered by their UTF-8 bytes, which differs from UTF-16 only above U+D7FF. */
export function compareStrings(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) {
      if (left < 0xd800 || right < 0xd800) return left - right
      return byCodePoint(left) - byCodePoint(right)
    }
  }
  return a.length - b.length
}

/** Moves surrogates (U+10000 and up) behind the rest of the basic plane. */
function byCodePoint(unit: number): number {
  return unit <= 0xdfff ? unit + 0x10000 : unit
}

const containerBytes = 3
export const entryBytes = 1

export function textBytes(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

export function valueSize(value: Value): number {
  switch (typeof value) {
    case 'string':
      return textBytes(value)
    case 'number':
      return numberSize(value)
    case 'boolean':
      return 1
    default:
      if (value === null) return 1
      if (isList(value)) return listSize(value)
      if (value instanceof Uint8Array) return value.byteLength
      return containerBytes + mapEntriesSize(value)
  }
}

function listSize(list: readonly Value[]): number {
  let size = containerBytes
  for (const entry of list) size += entryBytes + valueSize(entry)
  return size
}

function mapEntriesSize(map: Item): number {
  let size = 0
  for (const name of Object.keys(map)) {
    size += entryBytes + textBytes(name) + valueSize(map[name] as Value)
  }
  return size
}

/**
 * UTF-8 bytes of names and strings, two decimal digits to a byte for numbers, 3 bytes for a container and 1 for each of
 * its entries. At the top of an item the names count, the entries do not.
 */
export function itemSize(item: Item): number {
  let size = 0
  for (const name of Object.keys(item)) size += attributeSize(name, item[name] as Value)
  return size
}

export function attributeSize(name: string, value: Value): number {
  return textBytes(name) + valueSize(value)
}

const numberSizeMax = 21

/** One byte for every two significant digits on each side of the point, one for the exponent, one for a sign. */
function numberSize(value: number): number {
  if (value === 0) return 1
  const sign = value < 0 ? 1 : 0
  return Math.min(numberSizeMax, 1 + pairsOf(Math.abs(value)) + sign)
}

/** 3.14159 is one pair before the point and three behind it. */
function pairsOf(positive: number): number {
  if (Number.isSafeInteger(positive)) return Math.ceil(digitsOf(positive) / 2)
  const [mantissa = '', exponent = '0'] = positive.toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const before = Math.max(0, Math.min(digits.length, Number(exponent) + 1))
  return Math.ceil(before / 2) + Math.ceil((digits.length - before) / 2)
}

/** Without the zeros at its end. */
function digitsOf(whole: number): number {
  let significant = whole
  while (significant % 10 === 0) significant /= 10
  return String(significant).length
}
