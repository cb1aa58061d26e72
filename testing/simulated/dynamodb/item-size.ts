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
