import { hashOf } from '../../core/hash.ts'
import { expiryText } from '../../core/item-expiry.ts'
import { planLater } from '../../core/later.ts'
import {
  ITEMS_PER_PUSH_MAX,
  KEYS_PER_APPEND,
  LANES_PER_APPEND,
  PUSH_BYTES_MAX,
  SCHEDULED_BYTES_PER_APPEND,
} from '../../core/limits.ts'
import { anchorOf, encodeNote, type Offset } from '../../core/notes.ts'
import { checkIdempotencyKey } from '../../core/pop-request.ts'
import {
  checkPush,
  checkTimesAhead,
  dueSecondOf,
  mayBeLater,
  type PushItem,
} from '../../core/push-request.ts'
import type { Sequence } from '../../core/sequence.ts'
import type { Engine } from '../attempts/engine.ts'
import type { Prepared } from '../lanes/entries.ts'

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

/** The calls that can still be pushed; in a sequence, none behind one that has failed. */
export function pending(calls: readonly Call[]): Call[] {
  const failed = calls.findIndex(
    ({ push, outcome }) => push.sequence !== undefined && outcome?.kind === 'failed',
  )
  const ahead = failed === -1 ? calls : calls.slice(0, failed)
  return ahead.filter(({ outcome }) => outcome === undefined)
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

const bodyHashOf = (items: readonly PushItem[]): string =>
  hashOf(
    ...items.flatMap((item) => [
      item.text,
      String(item.priority ?? 0),
      ...expiryText(item),
      // This is not JSON, so no item can look like it.
      ...(item.delaySeconds === undefined ? [] : [`in ${item.delaySeconds}`]),
      ...(item.deliverAtMs === undefined ? [] : [`at ${item.deliverAtMs}`]),
    ]),
  )

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

/** How many of its items take up room at once. */
export const itemsNow = ({ push }: Call, nowMs: number): number =>
  push.items.filter((item) => dueSecondOf(item, nowMs) === undefined).length

/** If so, it gets the other's answer and need not be sent; but an inbox message keeps its place in the sequence. */
export const isSameAs = ({ push, keyHash, bodyHash }: Call, other: Call | undefined): boolean =>
  keyHash !== undefined &&
  push.sequence === undefined &&
  other?.keyHash === keyHash &&
  other.bodyHash === bodyHash

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
      lanes.size <= LANES_PER_APPEND &&
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
