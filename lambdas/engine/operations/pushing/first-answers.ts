import { QueueError } from '../../../foundation/errors.ts'
import { idsOf } from '../../core/item-ids.ts'
import { receiptKey } from '../../core/keys.ts'
import { laterIds, planLater } from '../../core/later.ts'
import { decodeNote, isOver, type Note, type Places, placesOf, ttlOf } from '../../core/notes.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isApplied } from '../../core/sequence.ts'
import type { Engine } from '../attempts/engine.ts'
import type { Call } from './calls.ts'

// The answer that the first push with a key got: first a note in the record holds it, then a receipt.

/** A call with a note, or with a sequence number that the queue has already reached, needs no further look. */
function answerByRecord(call: Call, record: QueueRecord, nowMs: number): void {
  const { keyHash, push } = call
  if (push.sequence !== undefined && isApplied(push.sequence, record)) {
    call.outcome = { kind: 'applied' }
    return
  }
  const noted = keyHash === undefined ? undefined : record.notes.get(keyHash)
  if (noted === undefined) return
  const note = decodeNote(noted)
  if (isOver(ttlOf(note), nowMs)) return
  answerAgain(call, note, placesOf(record, note))
}

/** Answers from the record, and from the receipts of calls that are not in it. */
export async function answerKnown(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  record: QueueRecord | undefined,
): Promise<void> {
  if (record !== undefined) {
    const nowMs = engine.clock.nowMs()
    for (const call of calls) answerByRecord(call, record, nowMs)
  }
  await answersOfReceipts(
    engine,
    queue,
    calls.filter(({ outcome }) => outcome === undefined),
  )
}

/** Looks for the receipts of all keys among these. */
async function answersOfReceipts(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
): Promise<void> {
  const hashes = calls.flatMap(({ keyHash }) => keyHash ?? [])
  const receipts = await receiptsOf(engine, queue, hashes)
  for (const call of calls) {
    const receipt = receipts.get(call.keyHash ?? '')
    if (receipt !== undefined) answerAgain(call, firstOf(receipt), placesIn(receipt))
  }
}

/** The receipts that still count, by the hash of their keys. */
export async function receiptsOf(
  { dynamo, clock }: Engine,
  queue: string,
  hashes: readonly string[],
): Promise<Map<string, Receipt>> {
  const [only] = hashes
  if (only === undefined) return new Map()
  // Two of the calls may have one key, and DynamoDB refuses to be asked twice for a row.
  const keys = [...new Set(hashes)].map((hash) => receiptKey(queue, hash))
  const rows =
    keys.length === 1
      ? [await dynamo.get(receiptKey(queue, only), true)]
      : await dynamo.getMany(keys, true)
  const receipts = new Map<string, Receipt>()
  for (const row of rows as (Receipt | undefined)[]) {
    if (row === undefined || isOver(row.ttl, clock.nowMs())) continue
    receipts.set(row.pk.slice(row.pk.lastIndexOf('#') + 1), row)
  }
  return receipts
}

export const placesIn = ({ places = [] }: Receipt): Places =>
  new Map(places.map(([priority, epoch, start]) => [priority, { epoch, start }]))

/** What we remember of the first push, from a note or a receipt. */
type First = Pick<Note, 'bodyHash' | 'pushedAtMs' | 'tag' | 'seals'>

function firstOf({ hash, tag = '', later }: Receipt): First {
  const [pushedAtMs = 0, seals] = later ?? []
  return { bodyHash: hash, tag, pushedAtMs, seals }
}

/** The ids of the items that it scheduled follow from the push and its time. */
function scheduledBy(
  { push: { items }, keyHash = '' }: Call,
  { pushedAtMs, tag, seals }: First,
): ReadonlyMap<number, string> {
  if (seals === undefined) return new Map()
  return laterIds(planLater(items, { pushedAtMs, tag, seals }, keyHash), seals)
}

/** If an older engine, which knows no notes, took the items off the tail, nobody can name the ids. */
function answerAgain(call: Call, first: First, places: Places): void {
  const { items } = call.push
  if (first.bodyHash !== call.bodyHash) {
    call.outcome = { kind: 'failed', error: conflict() }
    return
  }
  const scheduled = scheduledBy(call, first)
  const isKnown = items.every(
    ({ priority = 0 }, index) => scheduled.has(index) || places.has(priority),
  )
  const ids = isKnown ? idsOf(items, places, scheduled) : []
  call.outcome = { kind: 'repeated', ids }
}

const conflict = (): QueueError =>
  new QueueError(
    'IDEMPOTENCY_CONFLICT',
    'Cannot push with this Idempotency-Key because it was used with other items',
    { field: 'Idempotency-Key' },
  )
