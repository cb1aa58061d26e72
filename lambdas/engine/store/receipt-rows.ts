import { receiptKey } from '../core/keys.ts'
import { decodeNote, placesOf, ttlOf } from '../core/notes.ts'
import type { Receipt } from '../core/receipt.ts'
import type { QueueRecord } from '../core/record.ts'

/**
 * What the record notes of these keys, as rows of their own. They are true as soon as the notes are: whether the
 * notes leave the record after that, and who takes them out, does not matter.
 */
export const receiptRows = (record: QueueRecord, keyHashes: readonly string[]): Receipt[] =>
  keyHashes.map((keyHash) => {
    const note = decodeNote(record.notes.get(keyHash) as string)
    const places = placesOf(record, note)
    return {
      ...receiptKey(record.queue, keyHash),
      hash: note.bodyHash,
      ttl: ttlOf(note),
      // Of some lanes alone nobody can make the ids of the push.
      places:
        places.size < note.places.size
          ? []
          : [...places].map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    }
  })
