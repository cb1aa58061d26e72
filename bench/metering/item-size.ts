// How DynamoDB measures an item: UTF-8 bytes of names and texts, two decimal digits a byte for
// numbers, 3 bytes for a list or map and 1 for each of its entries.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html

export const WRITE_UNIT_BYTES = 1024

export function itemBytes(item: object): number {
  let bytes = 0
  for (const [name, value] of Object.entries(item)) {
    if (value !== undefined) bytes += Buffer.byteLength(name) + valueBytes(value)
  }
  return bytes
}

export function valueBytes(value: unknown): number {
  if (value === null || value === undefined || typeof value === 'boolean') return 1
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number' || typeof value === 'bigint') return numberBytes(String(value))
  if (value instanceof Uint8Array) return value.byteLength
  if (Array.isArray(value)) {
    return value.reduce<number>((bytes, entry) => bytes + 1 + valueBytes(entry), 3)
  }
  return 3 + Object.keys(value).length + itemBytes(value)
}

function numberBytes(text: string): number {
  const digits = text
    .replace(/e.*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
  return Math.ceil(digits.length / 2) + 1 + (text.startsWith('-') ? 1 : 0)
}

export const writeUnitsOf = (bytes: number): number =>
  Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES))
