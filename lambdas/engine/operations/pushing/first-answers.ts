import { QueueError } from '../../../foundation/errors.ts'
import { idsOf } from '../../core/append.ts'
import { receiptKey } from '../../core/keys.ts'
import { decodeNote, isOver, type Places, placesOf } from '../../core/notes.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isApplied } from '../../core/sequence.ts'
import type { Engine } from '../attempts/engine.ts'
import type { Call } from './calls.ts'

// What was answered to the first push with a key: the record notes it, and then its receipt.

/** What has a note, or a sequence number that the queue has come to, needs no other look. */
export function answerByRecord(call: Call, record: QueueRecord): void {
  const { keyHash, push } = call
  if (push.sequence !== undefined && isApplied(push.sequence, record)) {
    call.outcome = { kind: 'applied' }
    return
  }
  const noted = keyHash === undefined ? undefined : record.notes.get(keyHash)
  if (noted === undefined) return
  const note = decodeNote(noted)
  answerAgain(call, note.bodyHash, placesOf(record, note))
}

/** Looks for the receipts of all keys among these. In doubt, a receipt may be of this push itself. */
export async function answersOfReceipts(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  inDoubt: boolean,
): Promise<void> {
  const keyed = calls.flatMap((call) =>
    call.keyHash === undefined ? [] : [{ call, key: receiptKey(queue, call.keyHash) }],
  )
  const [only] = keyed
  if (only === undefined) return
  const rows =
    keyed.length === 1
      ? [await engine.dynamo.get(only.key, true)]
      : await engine.dynamo.getMany(
          keyed.map(({ key }) => key),
          true,
        )
  const receipts = new Map(
    rows.flatMap((row) => (row === undefined ? [] : [[row.pk, row as Receipt]])),
  )
  for (const { call, key } of keyed) {
    const receipt = receipts.get(key.pk)
    if (receipt === undefined || isOver(receipt.ttl, engine.clock.nowMs())) continue
    const places = (receipt.places ?? []).map(
      ([priority, epoch, start]) => [priority, { epoch, start }] as const,
    )
    answerAgain(call, receipt.hash, new Map(places), inDoubt)
  }
}

/** Nobody can name the ids if an engine that knows no notes took the items off the tail. */
function answerAgain(call: Call, bodyHash: string, places: Places, inDoubt = false): void {
  const { items } = call.push
  if (bodyHash !== call.bodyHash) {
    call.outcome = { kind: 'failed', error: conflict() }
    return
  }
  const isKnown = items.every(({ priority = 0 }) => places.has(priority))
  const ids = isKnown ? idsOf(items, places) : []
  call.outcome = { kind: inDoubt ? 'pushed' : 'repeated', ids }
}

const conflict = (): QueueError =>
  new QueueError(
    'IDEMPOTENCY_CONFLICT',
    'Cannot push with this Idempotency-Key because it was used with another body',
    { field: 'Idempotency-Key' },
  )
