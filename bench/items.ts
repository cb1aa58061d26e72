// Items as a shop would queue them: much of each is the same as in the one before (names, kinds, currencies) and
// some differs (ids, amounts), so that they compress like real ones: 100 of 234 bytes are 23 KB, and about 4.5 KB
// after zstd.

import { seeded } from '../testing/random.ts'

export type ItemGenerator = (bytes?: number) => string

const ITEM_BYTES = 234

const kinds = ['order.created', 'order.paid', 'order.packed', 'order.shipped', 'order.returned']
const currencies = ['EUR', 'EUR', 'EUR', 'USD', 'GBP']
const articles = ['espresso-1kg', 'filter-500g', 'grinder', 'cup-blue', 'cup-white', 'descaler']

export function createItems(seed: number): ItemGenerator {
  const random = seeded(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const digits = (count: number) => String(Math.floor(random() * 10 ** count)).padStart(count, '0')
  const hex = (count: number) =>
    Math.floor(random() * 16 ** count)
      .toString(16)
      .padStart(count, '0')
  let timeMs = Date.UTC(2026, 10, 18, 7)
  let order = 730_000 + Math.floor(random() * 10_000)

  return (bytes = ITEM_BYTES) => {
    timeMs += Math.floor(random() * 400)
    order += 1
    const event = {
      id: hex(8) + hex(8) + hex(8) + hex(8),
      kind: pick(kinds),
      at: new Date(timeMs).toISOString(),
      customer: `c-${digits(6)}`,
      order,
      total: `${1 + Math.floor(random() * 300)}.${digits(2)} ${pick(currencies)}`,
      article: pick(articles),
      count: 1 + Math.floor(random() * 4),
      note: '',
    }
    const missing = bytes - JSON.stringify(event).length
    return JSON.stringify({ ...event, note: filler.slice(0, Math.max(0, missing)) })
  }
}

const filler = 'leave with the neighbours if nobody opens; ring twice. '.repeat(8)
