import { createHash, randomUUID } from 'node:crypto'
import type { Batch } from './batches.ts'

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
