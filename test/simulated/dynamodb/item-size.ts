import { type Item, isList, type Value } from './value.ts'

/**
 * How DynamoDB measures an item: UTF-8 bytes of names and strings, two decimal digits to a byte
 * for numbers, 3 bytes for a container and 1 for each of its entries.
 */

export const containerBytes = 3
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

export function numberSize(value: number): number {
  if (value === 0) return 1
  if (Number.isInteger(value)) {
    const positive = Math.abs(value)
    if (positive < 100) return value < 0 ? 3 : 2
  }
  return decimalSize(value)
}

function decimalSize(value: number): number {
  const [mantissa = '', exponentText = '0'] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '').replace(/0+$/, '')
  const exponent = Number(exponentText)
  // Digits are stored in pairs counted from the decimal point: 110 is 01 10, 1.1 is 01 10 too.
  const startsMidPair = exponent % 2 === 0 ? 1 : 0
  const pairs = Math.ceil((digits.length + startsMidPair) / 2)
  return Math.min(numberSizeMax, pairs + 1 + (value < 0 ? 1 : 0))
}
