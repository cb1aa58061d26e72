import { receiptKey } from '../core/keys.ts'
import { decodeNote, isOver, placesOf, ttlOf } from '../core/notes.ts'
import type { Receipt } from '../core/receipt.ts'
import type { QueueRecord } from '../core/record.ts'

/**
 * What the record notes of these keys, as rows of their own. They are true as soon as the notes are: whether the
 * notes leave the record after that, and who takes them out, does not matter. A key whose time is over gets none:
 * by a record that a process has remembered for long, it would take the place of the receipt of its next push.
 */
export function receiptRows(
  record: QueueRecord,
  keyHashes: readonly string[],
  nowMs: number,
): Receipt[] {
  const rows: Receipt[] = []
  for (const keyHash of keyHashes) {
    const note = decodeNote(record.notes.get(keyHash) as string)
    const ttl = ttlOf(note)
    if (isOver(ttl, nowMs)) continue
    const places = [...placesOf(record, note)]
    rows.push({
      ...receiptKey(record.queue, keyHash),
      hash: note.bodyHash,
      tag: note.tag,
      ttl,
      // Of some lanes alone nobody can make the ids of the push.
      places:
        places.length < note.places.size
          ? []
          : places.map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    })
  }
  return rows
}
