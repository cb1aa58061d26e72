import { ITEM_BYTES_MAX, PRIORITY_MAX } from '../../engine/core/limits.ts'
import { JsonReader } from '../../lambdas/http/json-reader.ts'

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

export type Stored = { readonly text: string; readonly priority: number }

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
