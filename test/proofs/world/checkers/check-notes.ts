import { receiptKey } from '../../../../lambdas/engine/core/keys.ts'
import {
  decodeNote,
  isLongOver,
  movedSoFar,
  placesOf,
} from '../../../../lambdas/engine/core/notes.ts'
import type { Receipt } from '../../../../lambdas/engine/core/receipt.ts'
import type { QueueRecord } from '../../../../lambdas/engine/core/record.ts'
import type { Model } from './model.ts'

/** A key is remembered by a note of the record, or by its receipt: at every moment, and with its places. */
export function checkNotes(
  model: Model,
  before: QueueRecord | undefined,
  after: QueueRecord | undefined,
): void {
  if (before === undefined) return
  const { statistics, scheduler, skewMaxMs } = model.world
  let left = 0
  for (const [hash, note] of before.notes) {
    const now = after?.notes.get(hash)
    if (now === note) continue
    if (now !== undefined) {
      statistics.count('path note got its number')
      if (now.slice(0, 34) !== note.slice(0, 34)) model.violated("a note stays its push's", note)
      continue
    }
    left += 1
    statistics.count('path note left')
    if (isLongOver(decodeNote(note), scheduler.nowMs + skewMaxMs)) {
      statistics.count('path expired note left')
      continue
    }
    const { pk, sk } = receiptKey(before.queue, hash)
    const receipt = model.rows.row(pk, sk) as Receipt | undefined
    const { bodyHash, places } = decodeNote(note)
    if (receipt?.hash !== bodyHash || receipt.places?.length !== places.size) {
      model.violated('a key is remembered', `${note} has left, its receipt is ${show(receipt)}`)
    }
  }
  if (after === undefined) return
  if (movedSoFar(after.moved) !== movedSoFar(before.moved) + left) {
    model.violated('notes that leave are counted', `${left} left`)
  }
  for (const [hash, note] of after.notes) {
    if (!before.notes.has(hash)) statistics.count('path note made')
    if (placesOf(after, decodeNote(note)).size < decodeNote(note).places.size) {
      model.violated('a note tells the places', note)
    }
  }
}

const show = (receipt: Receipt | undefined): string => JSON.stringify(receipt) ?? 'missing'
