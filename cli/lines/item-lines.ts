// An item as a line of JSON, both ways: drain and export write it, import reads it. The item goes through as the text
// it is, never parsed and printed again: `1.0` would become `1`, and `1e400` would become `null`.

import { createHash, randomUUID } from 'node:crypto'
import { ITEM_BYTES_MAX, PRIORITY_MAX } from '../../engine/core/limits.ts'
import type { BrowsePage, PoppedItem } from '../../engine/queues.ts'
import { JsonReader } from '../../lambdas/http/json-reader.ts'
import { toldFields } from '../../shared/item-fields.ts'
import type { Batch } from './push-lines.ts'

/** Popped, on a page of items, or for later. */
type Shown = Partial<BrowsePage['items'][number]> & Pick<PoppedItem, 'text'>

/** Epoch seconds, as everywhere in the API. */
export const seconds = (ms: number): number => ms / 1000

/**
 * Between tokens, JSON may hold line breaks; within strings it cannot. As spaces they mean the same
 * and leave one item on one line.
 */
export const onOneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ')

/** What answers tell of an item beside its JSON, in the API's own names; its priority first, which import reads. */
export function detailsOf(item: Shown): Readonly<Record<string, unknown>> {
  const details: Record<string, unknown> = { priority: item.priority }
  for (const { name, wire, is } of toldFields) {
    const value = item[name as keyof Shown]
    details[wire] = is === 'time' && value !== undefined ? seconds(value as number) : value
  }
  return details
}

/**
 * `{"item":…,"priority":0,"id":…}`. The item goes in as the text it is: parsed and printed again
 * `1.0` would be `1`, and `1e400` would be `null`.
 */
export const itemLine = (item: Shown): string =>
  `{"item":${onOneLine(item.text)},${JSON.stringify(detailsOf(item)).slice(1)}`

/** `{"items":[…],…}`, in the same way. */
export const withItems = (texts: readonly string[], fields: object): string => {
  const others = JSON.stringify(fields)
  const items = `{"items":[${texts.map(onOneLine).join(',')}]`
  return others === '{}' ? `${items}}` : `${items},${others.slice(1)}`
}

/** Why a text is not an item; `undefined` if it is one. */
export function whyNoItem(text: string): string | undefined {
  if (!isJson(text)) return 'it is not JSON (a plain line of text is pushed with --text)'
  return whyTooLarge(text)
}

export function whyTooLarge(text: string): string | undefined {
  const bytes = Buffer.byteLength(text)
  if (bytes <= ITEM_BYTES_MAX) return undefined
  return `it has ${bytes} bytes, and an item has ${ITEM_BYTES_MAX} at most`
}

function isJson(text: string): boolean {
  try {
    const reader = new JsonReader(text)
    reader.value()
    reader.end()
    return true
  } catch {
    // We say only whether it is one, never where it breaks: the caller names the line, and we must not show its
    // contents.
    return false
  }
}

type Stored = { readonly text: string; readonly priority: number }

/**
 * The item and priority of a line that drain or export wrote; the item as the text it is. What else is in the line
 * tells where the item was, and is not read. Only the command `scheduled` tells `due_at` and no `deliveries`.
 */
export function readStored(line: string): Stored | string {
  const raw = new Map<string, string>()
  try {
    const reader = new JsonReader(line)
    if (reader.peek() !== '{') return 'it is not a JSON object with an "item"'
    reader.fields((name) => raw.set(name, reader.value()))
    reader.end()
  } catch {
    return 'it is not JSON'
  }
  const text = raw.get('item')
  if (text === undefined) return 'it has no "item" (lines that are items themselves are for push)'
  if (raw.has('due_at') && !raw.has('deliveries')) {
    return 'it is an item for later, which import would push for now (see push --deliver-at)'
  }
  const priority = Number(raw.get('priority') ?? 0)
  if (!Number.isInteger(priority) || priority < 0 || priority > PRIORITY_MAX) {
    return `its "priority" is not an integer from 0 to ${PRIORITY_MAX}`
  }
  return whyTooLarge(text) ?? { text, priority }
}

/**
 * The idempotency key of a batch: what is in it, and where in the file it begins. The same file
 * pushes nothing twice in the 24 hours for which keys are remembered, wherever it was moved to; a
 * line that was changed makes its batch another one, instead of a conflict that nobody could solve.
 * An item that was drained a second time has another id, and with it another line.
 */
export function importKey({ items }: Batch): string {
  const hash = createHash('sha256')
  hash.update(`${items[0]?.offset ?? 0}\n`)
  for (const { raw, text } of items) hash.update(raw ?? text).update('\n')
  return `import-${hash.digest('base64url')}`
}

/** Pushes whatever was pushed before. */
export const freshKey = (): string => `import-${randomUUID()}`
