import { QueueError } from '../../foundation/errors.ts'
import { hashOf } from './hash.ts'
import {
  ENTRY_OVERHEAD_BYTES,
  INLINE_BYTES_MAX,
  SCHEDULED_HARD_BYTES,
  SCHEDULED_SOFT_BYTES,
  TIMES_PER_PUSH_MAX,
} from './limits.ts'
import { dueSecondOf, type PushItem } from './push-request.ts'
import { scheduledId } from './scheduled.ts'

// The items that a push schedules. Their entries follow from the items, the time of the push and a seed, so that a
// repetition with the same key gets the same ids, and we need not store them.

/** The scheduled entries that an append adds to the record. */
export type Later = {
  readonly entries: readonly string[]
  readonly items: number
  readonly bytes: number
  /** When the earliest of them is due. */
  readonly dueMs: number
  /** How many seals there were in the record that the push relies on. */
  readonly seals: number
}

/** What the ids of a push with a key are made from; the key's note holds it. */
export type LaterSeed = {
  readonly pushedAtMs: number
  readonly tag: string
  readonly seals: number
}

export type PlannedEntry = {
  readonly due: number
  readonly priority: number
  readonly random: string
  /** Indexes of the push's items; a single one without a batch. */
  readonly items: readonly number[]
  readonly byReference: boolean
}

/** A reference adds about this much, so smaller groups of items need no batch. */
const REFERENCE_BYTES = 48
/** An entry without its text. */
const ENTRY_BYTES = 13 + ENTRY_OVERHEAD_BYTES

/** The entries that a push makes of its delayed items. */
export function planLater(
  items: readonly PushItem[],
  seed: LaterSeed,
  keyHash: string,
): PlannedEntry[] {
  const bytesOf = ({ text }: PushItem): number => Buffer.byteLength(text) + ENTRY_BYTES
  const groups = new Map<
    string,
    { due: number; priority: number; items: number[]; bytes: number }
  >()
  let bytes = 0
  for (const [index, item] of items.entries()) {
    const due = dueSecondOf(item, seed.pushedAtMs)
    if (due === undefined) continue
    const { priority = 0 } = item
    const key = `${due}.${priority}`
    const group = groups.get(key) ?? { due, priority, items: [], bytes: 0 }
    groups.set(key, group)
    group.items.push(index)
    group.bytes += bytesOf(item)
    bytes += bytesOf(item)
  }
  if (groups.size > TIMES_PER_PUSH_MAX) throw tooManyTimes(groups.size)
  const isSmall = bytes <= INLINE_BYTES_MAX
  const planned: PlannedEntry[] = []
  for (const { due, priority, items: of, bytes: size } of groups.values()) {
    const byReference = !isSmall && size > REFERENCE_BYTES
    for (const some of byReference ? [of] : of.map((index) => [index])) {
      const random = randomOf(keyHash, seed, planned.length)
      planned.push({ due, priority, random, items: some, byReference })
    }
  }
  return planned
}

/** The ids of the delayed items of a push, by their place in it. */
export function laterIds(planned: readonly PlannedEntry[], seals: number): Map<number, string> {
  const ids = new Map<number, string>()
  for (const { due, random, items, byReference } of planned) {
    for (const [index, item] of items.entries()) {
      ids.set(item, scheduledId({ due, seals, random, index: byReference ? index : undefined }))
    }
  }
  return ids
}

const randomOf = (keyHash: string, { pushedAtMs, tag }: LaterSeed, place: number): string =>
  hashOf(keyHash, String(pushedAtMs), tag, String(place)).slice(0, 8).replaceAll('-', '~')

/**
 * An append passes while the record's entries take at most this. An append that alone exceeds the cap passes while
 * the entries are too few for a seal.
 */
export const scheduledBytesAllowed = ({ bytes }: Later): number =>
  Math.max(SCHEDULED_HARD_BYTES - bytes, SCHEDULED_SOFT_BYTES)

const tooManyTimes = (times: number): QueueError =>
  new QueueError(
    'INVALID_PARAMETER',
    `Cannot schedule items for ${times} pairs of time and priority in one push because it takes ${TIMES_PER_PUSH_MAX}`,
    { field: 'items' },
  )
