import type { Append, Placed } from '../../core/append.ts'
import { findNoted, placedBy } from '../../core/find-append.ts'
import { decodeNote, isOver, ttlOf } from '../../core/notes.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { QueueRecord } from '../../core/record.ts'
import { mayHaveSuccessor } from '../../store/receipt-rows.ts'
import { type Engine, outcomeUnknown } from '../attempts/engine.ts'
import { placesIn, receiptsOf } from './first-answers.ts'

/**
 * Finds an append whose answer was lost by its receipts, if the record has not all of its notes any more. If it has
 * none, and the receipts belong to another append, this one has not landed, and no copy of it can land any more.
 */
export async function landedAs(
  engine: Engine,
  queue: string,
  addition: Append,
  newBy: QueueRecord,
  record: QueueRecord | undefined,
): Promise<Placed | undefined> {
  const notes = addition.notes ?? new Map<string, string>()
  if (notes.size === 0) {
    if (record?.born === newBy.born) return undefined
    throw outcomeUnknown(queue, new Error('The queue has been forgotten meanwhile'))
  }
  // One is enough to tell that it has landed.
  const noted = record && findNoted(addition, record)
  const receipts = await receiptsOf(engine, queue, [...notes.keys()]).catch((error: unknown) => {
    if (noted !== undefined) return new Map<string, Receipt>()
    throw outcomeUnknown(queue, error)
  })
  let placed = noted
  let isReplaced = false
  for (const [hash, note] of notes) {
    const sent = decodeNote(note)
    // Its receipt may be gone already.
    if (noted === undefined && isOver(ttlOf(sent), engine.clock.nowMs())) {
      throw outcomeUnknown(queue, new Error('The time of its key is over'))
    }
    const receipt = receipts.get(hash)
    if (receipt?.tag === sent.tag) {
      placed = placedBy(addition, sent, placesIn(receipt), record, placed)
    } else isReplaced ||= mayBeReplaced(engine, ttlOf(sent), receipt)
  }
  if (placed === undefined && isReplaced) {
    throw outcomeUnknown(queue, new Error('By another clock the time of its key may be over'))
  }
  return placed
}

/** Its receipt may have been here: the key was pushed anew since, or DynamoDB has deleted it. */
const mayBeReplaced = ({ clock }: Engine, ttl: number, found: Receipt | undefined): boolean =>
  mayHaveSuccessor({ ttl }, clock.nowMs()) && (found === undefined || found.ttl > ttl)
