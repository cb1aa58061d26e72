import { type Item, isList, type Value } from './value.ts'

/**
 * How DynamoDB measures an item: UTF-8 bytes of names and strings, two decimal digits to a byte
 * for numbers, 3 bytes for a container and 1 for each of its entries.
 */

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

/** At the top of an item the names count, the entries do not. */
export function itemSize(item: Item): number {
  let size = 0
  for (const name of Object.keys(item)) size += attributeSize(name, item[name] as Value)
  return size
}

export function attributeSize(name: string, value: Value): number {
  return textBytes(name) + valueSize(value)
}

const numberSizeMax = 21

/** One byte for every two significant digits, one for the exponent, one for a sign. */
function numberSize(value: number): number {
  if (value === 0) return 1
  const sign = value < 0 ? 1 : 0
  const pairs = Math.ceil(significantDigits(Math.abs(value)) / 2)
  return Math.min(numberSizeMax, 1 + pairs + sign)
}

function significantDigits(positive: number): number {
  return Number.isInteger(positive) ? digitsOfInteger(positive) : digitsOfFraction(positive)
}

function digitsOfInteger(positive: number): number {
  let rest = positive
  while (rest % 10 === 0) rest /= 10
  let digits = 1
  for (let power = 10; power <= rest; power *= 10) digits++
  return digits
}

function digitsOfFraction(positive: number): number {
  const [mantissa = ''] = positive.toExponential().split('e')
  return mantissa.replace('.', '').length
}
