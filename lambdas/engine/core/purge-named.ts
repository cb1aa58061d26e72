import { forOneWriteOf, type NamedItem, namedIn, stretchesOfNamed, takeOut } from './named.ts'
import type { QueueRecord } from './record.ts'

/** One step of a purge of these items, even locked ones: as many as one write's expression has room for. */
export function purgeNamedStep(
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): { draft: QueueRecord; items: readonly NamedItem[] } {
  const items = forOneWriteOf(record, namedIn(record, named))
  return { draft: takeOut(record, stretchesOfNamed(items), nowMs), items }
}
