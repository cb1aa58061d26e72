// Several pushes as one: which of them one append takes, the notes that it leaves for their keys, and what a push that
// happened before is answered. The answer of the first push with a key is in a note of the record until that goes into
// a receipt, a row for each key. So an append whose answer was lost is found by its notes; or, once these have left the
// record, by its receipts; or nobody can tell, and we say so.

import { QueueError } from '../../shared/errors.ts'
import { type Append, findNoted, idsOf, type Placed, placedBy } from '../core/append.ts'
import {
  checkIdempotencyKey,
  checkPush,
  checkTimesAhead,
  dueSecondOf,
  hashedParts,
  mayBeLater,
  type PushItem,
} from '../core/check-requests.ts'
import { hashOf, receiptKey } from '../core/keys.ts'
import { laterIds, planLater } from '../core/later.ts'
import {
  ITEMS_PER_PUSH_MAX,
  KEYS_PER_APPEND,
  PUSH_BYTES_MAX,
  SCHEDULED_BYTES_PER_APPEND,
} from '../core/limits.ts'
import type { QueueRecord } from '../core/record.ts'
import {
  anchorOf,
  decodeNote,
  encodeNote,
  isApplied,
  isForgotten,
  mayHaveSuccessor,
  type Note,
  type Offset,
  type Places,
  placesOf,
  type Receipt,
  type Sequence,
  ttlOf,
} from '../core/repeated-pushes.ts'
import type { Engine } from '../driver/engine.ts'
import type { Prepared } from '../storing/write-entries.ts'

/** One of several pushes that go together. */
export type PushOfMany = {
  readonly items: readonly PushItem[]
  readonly idempotencyKey?: string | undefined
  /** For an inbox message: its sequence number, which rises from push to push. */
  readonly sequence?: Sequence | undefined
}

/** What became of it. */
export type PushOutcome =
  | { readonly kind: 'pushed'; readonly ids: readonly string[] }
  /** An earlier push with this key did it, and got these ids; this one changed nothing. */
  | { readonly kind: 'repeated'; readonly ids: readonly string[] }
  /** The queue has already applied the sequence this far. */
  | { readonly kind: 'applied' }
  /** A `QueueError` says whether something may have changed; anything else is a bug of ours. */
  | { readonly kind: 'failed'; readonly error: unknown }

/** One of several pushes, and what we know about it. */
export type Call = {
  readonly push: PushOfMany
  readonly keyHash?: string
  readonly bodyHash: string
  /** It has a key or a place in a sequence, so it may have happened already; or it may schedule something. */
  readonly isGuarded: boolean
  /** About how many bytes its delayed items add to the scheduled entries. */
  readonly laterBytes: number
  /** Why its times would not be valid now. If it happened before, they were valid then. */
  readonly untimely?: unknown
  /** The ids of its delayed items, by index. Items without one go to their lanes. */
  laterIds: ReadonlyMap<number, string>
  outcome: PushOutcome | undefined
}

/** A push that is not valid fails from the start, unless only its times are wrong and it may have happened before. */
export function callsOf({ clock }: Engine, queue: string, pushes: readonly PushOfMany[]): Call[] {
  const nowMs = clock.nowMs()
  return pushes.map((push) => {
    const { items, idempotencyKey, sequence } = push
    const call = {
      push,
      ...(idempotencyKey !== undefined && { keyHash: hashOf(queue, idempotencyKey) }),
      isGuarded: idempotencyKey !== undefined || sequence !== undefined || items.some(mayBeLater),
      laterBytes: 0,
      laterIds: none,
    }
    try {
      checkPush(items)
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
    } catch (error) {
      return { ...call, bodyHash: '', outcome: { kind: 'failed', error } }
    }
    const timed = { ...call, bodyHash: bodyHashOf(items), outcome: undefined }
    try {
      checkTimesAhead(items, nowMs)
      return { ...timed, laterBytes: laterBytesOf(items, nowMs) }
    } catch (error) {
      const mayHaveHappened = idempotencyKey !== undefined || sequence !== undefined
      return mayHaveHappened
        ? { ...timed, untimely: error }
        : { ...timed, outcome: { kind: 'failed', error } }
    }
  })
}

const bodyHashOf = (items: readonly PushItem[]): string => hashOf(...items.flatMap(hashedParts))

const none: ReadonlyMap<number, string> = new Map()

/** Refuses a push that schedules too much, before we store anything. */
function laterBytesOf(items: readonly PushItem[], nowMs: number): number {
  if (!items.some(mayBeLater)) return 0
  let bytes = 0
  for (const entry of planLater(items, { pushedAtMs: nowMs, tag: '', seals: 0 }, '')) {
    const text = entry.byReference ? '' : (items[entry.items[0] as number]?.text ?? '')
    bytes += LATER_BYTES + Buffer.byteLength(text)
  }
  return bytes
}

/** Bytes of a scheduled entry without its item's text, or with a reference. */
const LATER_BYTES = 120

/** The calls that can still be pushed; in a sequence, none behind one that has failed. */
export function pending(calls: readonly Call[]): Call[] {
  const failed = calls.findIndex(
    ({ push, outcome }) => push.sequence !== undefined && outcome?.kind === 'failed',
  )
  const ahead = failed === -1 ? calls : calls.slice(0, failed)
  return ahead.filter(({ outcome }) => outcome === undefined)
}

/** How many of its items take up room at once. */
export const itemsNow = ({ push }: Call, nowMs: number): number =>
  push.items.filter((item) => dueSecondOf(item, nowMs) === undefined).length

/** If so, it gets the other's answer and need not be sent; but an inbox message keeps its place in the sequence. */
export const isSameAs = ({ push, keyHash, bodyHash }: Call, other: Call | undefined): boolean =>
  keyHash !== undefined &&
  push.sequence === undefined &&
  other?.keyHash === keyHash &&
  other.bodyHash === bodyHash

/** Lanes of several pushes that go together: beside those of their keys, the conditions of more would be too long. */
const LANES_PER_GROUP = 40

/**
 * The next calls that fit into one append. None overtakes another, and each key comes once: a second use of it gets
 * the first one's answer. A push that is too large by itself goes alone.
 */
export function groupOf(calls: readonly Call[], most: number): Call[] {
  const group: Call[] = []
  const keys = new Map<string, Call>()
  const lanes = new Set<number>()
  let [items, bytes, laterBytes] = [0, 0, 0]
  for (const call of pending(calls)) {
    const { push, keyHash } = call
    if (isSameAs(call, keys.get(keyHash ?? ''))) continue
    items += push.items.length
    laterBytes += call.laterBytes
    for (const { text, priority = 0 } of push.items) {
      bytes += Buffer.byteLength(text)
      lanes.add(priority)
    }
    const fits =
      group.length < most &&
      items <= ITEMS_PER_PUSH_MAX &&
      bytes <= PUSH_BYTES_MAX &&
      laterBytes <= SCHEDULED_BYTES_PER_APPEND &&
      lanes.size <= LANES_PER_GROUP &&
      !(keyHash !== undefined && (keys.has(keyHash) || keys.size >= KEYS_PER_APPEND))
    if (group.length > 0 && !fits) break
    if (keyHash !== undefined) keys.set(keyHash, call)
    group.push(call)
  }
  return group
}

/** Notes by key hash: each says where the push's items are among all that go together. */
export function notesOf(
  { idempotencyTtlSeconds }: Engine,
  calls: readonly Call[],
  { addition, pushedAtMs }: Prepared,
  tag: string,
): Map<string, string> {
  const notes = new Map<string, string>()
  const before = new Map<number, number>()
  for (const { push, keyHash, bodyHash, laterIds } of calls) {
    const places = new Map<number, Offset>()
    for (const [index, { priority = 0 }] of push.items.entries()) {
      if (laterIds.has(index)) continue
      const offset = before.get(priority) ?? 0
      const [first = ''] = addition.lanes.get(priority) ?? []
      if (!places.has(priority)) places.set(priority, { anchor: anchorOf(first), offset })
      before.set(priority, offset + 1)
    }
    if (keyHash === undefined) continue
    const seals = laterIds.size > 0 ? addition.later?.seals : undefined
    const note = { bodyHash, pushedAtMs, tag, ttlSeconds: idempotencyTtlSeconds, places, seals }
    notes.set(keyHash, encodeNote(note))
  }
  return notes
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
  const left = calls.filter(({ outcome }) => outcome === undefined)
  const hashes = left.flatMap(({ keyHash }) => keyHash ?? [])
  const receipts = await receiptsOf(engine, queue, hashes)
  for (const call of left) {
    const receipt = receipts.get(call.keyHash ?? '')
    if (receipt !== undefined) answerAgain(call, firstOf(receipt), placesIn(receipt))
  }
}

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
  if (isForgotten(ttlOf(note), nowMs)) return
  answerAgain(call, note, placesOf(record, note))
}

/** The receipts that still count, by the hash of their keys. */
async function receiptsOf(
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
    if (row === undefined || isForgotten(row.ttl, clock.nowMs())) continue
    receipts.set(row.pk.slice(row.pk.lastIndexOf('#') + 1), row)
  }
  return receipts
}

const placesIn = ({ places }: Receipt): Places =>
  new Map(places.map(([priority, epoch, start]) => [priority, { epoch, start }]))

/** What we remember of the first push, from a note or a receipt. */
type First = Pick<Note, 'bodyHash' | 'pushedAtMs' | 'tag' | 'seals'>

function firstOf({ hash, tag, later }: Receipt): First {
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

function answerAgain(call: Call, first: First, places: Places): void {
  const { items } = call.push
  if (first.bodyHash !== call.bodyHash) {
    call.outcome = { kind: 'failed', error: conflict() }
    return
  }
  call.outcome = { kind: 'repeated', ids: idsOf(items, places, scheduledBy(call, first)) }
}

const conflict = (): QueueError =>
  new QueueError(
    'IDEMPOTENCY_CONFLICT',
    'Cannot push with this Idempotency-Key because it was used with other items',
    { field: 'Idempotency-Key' },
  )

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
    throw QueueError.unknown(queue, new Error('The queue has been forgotten meanwhile'))
  }
  // One is enough to tell that it has landed.
  const noted = record && findNoted(addition, record)
  const receipts = await receiptsOf(engine, queue, [...notes.keys()]).catch((error: unknown) => {
    if (noted !== undefined) return new Map<string, Receipt>()
    throw QueueError.unknown(queue, error)
  })
  let placed = noted
  let isReplaced = false
  for (const [hash, note] of notes) {
    const sent = decodeNote(note)
    // Its receipt may be gone already.
    if (noted === undefined && isForgotten(ttlOf(sent), engine.clock.nowMs())) {
      throw QueueError.unknown(queue, new Error('The time of its key is over'))
    }
    const receipt = receipts.get(hash)
    if (receipt?.tag === sent.tag) {
      placed = placedBy(addition, sent, placesIn(receipt), record, placed)
    } else isReplaced ||= mayBeReplaced(engine, ttlOf(sent), receipt)
  }
  if (placed === undefined && isReplaced) {
    throw QueueError.unknown(queue, new Error('By another clock the time of its key may be over'))
  }
  return placed
}

/** Its receipt may have been here: the key was pushed anew since, or DynamoDB has deleted it. */
const mayBeReplaced = ({ clock }: Engine, ttl: number, found: Receipt | undefined): boolean =>
  mayHaveSuccessor({ ttl }, clock.nowMs()) && (found === undefined || found.ttl > ttl)
