// Items whose time has not come. None of them is in a lane until a process *joins* the due ones: then it is as if
// they had been pushed at that moment. The record holds the newest ones in its list `T`. A seal copies these out to
// rows, one for each second in which items are due; rows sort by that second and then by seal.
//   <due second>.<seals that its pusher knew of>.<random: 8>.<priority>.<indexes that are gone>.<lane entry>
// All numbers are in base 36. The first three fields make the id. A lane entry is an item, or a reference to a
// batch, in which case an item's id ends with its index in the batch.

import { invalid } from '../../shared/errors.ts'
import { dueSecondOf, type PushItem } from './check-requests.ts'
import { isReference, REFERENCE_BYTES, spanOf } from './item.ts'
import { hashOf, scheduledSortKey } from './keys.ts'
import { ENTRY_OVERHEAD_BYTES, INLINE_BYTES_MAX, SCHEDULED_SOFT_BYTES } from './limits.ts'
import { normalised } from './ranges.ts'
import type { Scheduled } from './record.ts'

/**
 * What a scheduled entry counts beyond its text: so 8,000 bytes are 97 entries at most, whose rows fit one transaction.
 */
const SCHEDULED_ENTRY_BYTES = 48
/** Past this, pushes of scheduled items wait until a process has sealed. */
const SCHEDULED_HARD_BYTES = 8_000
/** With this many scheduled items, a hundred rows, the record should hold none of their entries. */
const SCHEDULED_LARGE = 500

export const noneScheduled: Scheduled = {
  entries: [],
  items: 0,
  bytes: 0,
  changes: 0,
  seals: 0,
  nextDue: undefined,
  unseen: [],
  era: 0,
  purged: [],
}

export type ScheduledEntry = {
  readonly due: number
  /** How many seals its pusher knew of. If a seal copied it out, it was one of the next few. */
  readonly seals: number
  readonly random: string
  readonly priority: number
  /** For a reference: the indexes of items that were cancelled or have joined. */
  readonly gone: readonly number[]
  /** The entry as it will be in a lane, but for what `joining` adds to an item. */
  readonly entry: string
}

export type ScheduledId = Pick<ScheduledEntry, 'due' | 'seals' | 'random'> & {
  readonly index?: number | undefined
}

/** A row of scheduled entries, as far as plans need to know it. */
export type EntryRow = {
  readonly sk: string
  readonly due: number
  readonly entries: readonly string[]
  /** Its entries as they are stored. */
  readonly stored: Uint8Array
}

// Scheduled entries and their ids are texts; here they are written and read.

const text = (n: number): string => n.toString(36)
const number = (digits: string): number => Number.parseInt(digits, 36)

export function encodeScheduled(scheduled: ScheduledEntry): string {
  const { due, seals, random, priority, gone, entry } = scheduled
  return [text(due), text(seals), random, text(priority), textOf(gone), entry].join('.')
}

const entryForm = /^([0-9a-z]+)\.([0-9a-z]+)\.([^.]+)\.([0-9a-z]+)\.([0-9a-z,-]*)\.(.*)$/s

export function decodeScheduled(scheduled: string): ScheduledEntry {
  const match = entryForm.exec(scheduled)
  if (match === null) throw new Error('A scheduled entry has another form')
  const [, due, seals, random, priority, gone, entry] = match as unknown as string[]
  return {
    due: number(due as string),
    seals: number(seals as string),
    random: random as string,
    priority: number(priority as string),
    gone: goneIn(gone as string),
    entry: entry as string,
  }
}

/** Indexes as ranges: `0-1z,5k`. */
function textOf(gone: readonly number[]): string {
  const ranges = normalised(gone.map((index) => ({ from: index, to: index + 1 })))
  return ranges
    .map(({ from, to }) => (to === from + 1 ? text(from) : `${text(from)}-${text(to - 1)}`))
    .join()
}

function goneIn(ranges: string): number[] {
  if (ranges === '') return []
  return ranges.split(',').flatMap((range) => {
    const [from = '', to = from] = range.split('-')
    const first = number(from)
    return Array.from({ length: number(to) - first + 1 }, (_, index) => first + index)
  })
}

export const dueOf = (scheduled: string): number =>
  number(scheduled.slice(0, scheduled.indexOf('.')))

/** How many items an entry stands for. */
export function itemsOf(scheduled: string): number {
  const { gone, entry } = decodeScheduled(scheduled)
  return spanOf(entry) - gone.length
}

/** Indexes of the items that an entry still stands for; of a single item, none. */
export function indexesLeft({ gone, entry }: ScheduledEntry): (number | undefined)[] {
  if (!isReference(entry)) return [undefined]
  return [...Array(spanOf(entry)).keys()].filter((index) => !gone.includes(index))
}

/** What an entry adds to `bytes`: more than its text, so that the cap also bounds the number of entries. */
export const scheduledBytes = (scheduled: string): number =>
  Buffer.byteLength(scheduled) + SCHEDULED_ENTRY_BYTES

export const scheduledId = ({ due, seals, random, index }: ScheduledId): string =>
  `t-${text(due)}-${text(seals)}-${random}${index === undefined ? '' : `-${text(index)}`}`

const idForm = /^t-([0-9a-z]{1,9})-([0-9a-z]{1,9})-([A-Za-z0-9_~]{8})(?:-([0-9a-z]{1,3}))?$/

export function parseScheduledId(id: string): ScheduledId | undefined {
  const match = idForm.exec(id)
  if (match === null) return undefined
  const [, due, seals, random, index] = match as unknown as string[]
  const parsed = {
    due: number(due as string),
    seals: number(seals as string),
    random: random as string,
    index: index === undefined ? undefined : number(index),
  }
  // One id has one spelling.
  return scheduledId(parsed) === id ? parsed : undefined
}

// How the record names the rows of its scheduled items, and those of an era that a purge has ended.

const rowForm = /^(\d+)#(\d+)$/

/** A row's second and seal in few characters: the record names rows, and each write to it pays for that. */
export function shortRow(sk: string): string {
  const [, due, seals] = rowForm.exec(sk) ?? []
  return `${text(Number(due))}.${text(Number(seals))}`
}

export function rowOfShort(short: string): string {
  const [due = '', seals = ''] = short.split('.')
  return scheduledSortKey(number(due), number(seals))
}

export const dueOfRow = (sk: string): number => Number(sk.slice(0, sk.indexOf('#')))

/** The unseen rows that this read has not shown either. */
export function unseenBeside(
  unseen: readonly string[],
  read: readonly { readonly sk: string }[],
): readonly string[] {
  if (unseen.length === 0) return unseen
  const seen = new Set(read.map(({ sk }) => sk))
  return unseen.filter((sk) => !seen.has(sk))
}

/** `<era>#<rows that a read may not show>`, for what a purge takes out. */
export const purgedMark = ({ era, unseen }: Scheduled): string =>
  `${era}#${unseen.map(shortRow).join()}`

export function purgedEra(mark: string): {
  readonly era: number
  readonly unseen: readonly string[]
} {
  const at = mark.indexOf('#')
  const rows = mark.slice(at + 1)
  return {
    era: Number(mark.slice(0, at)),
    unseen: rows === '' ? [] : rows.split(',').map(rowOfShort),
  }
}

// What is due, by the record alone.

export const isDue = (due: number, nowMs: number): boolean => 1_000 * due <= nowMs

/** When the first of them is due, in the record or in rows. */
export function earliestDue({
  entries,
  nextDue,
}: Pick<Scheduled, 'entries' | 'nextDue'>): number | undefined {
  let earliest = nextDue
  for (const entry of entries) {
    const due = dueOf(entry)
    if (earliest === undefined || due < earliest) earliest = due
  }
  return earliest
}

/** Something is due by this clock, whether or not there is room for it. */
export function isSomethingDue(scheduled: Scheduled, nowMs: number): boolean {
  const due = earliestDue(scheduled)
  return due !== undefined && isDue(due, nowMs)
}

/** Once a queue with this many scheduled items comes to rest, its record should hold no entries of them. */
export const isUntidy = ({ entries, items }: Scheduled): boolean =>
  entries.length > 0 && items >= SCHEDULED_LARGE

// What a push schedules. The entries follow from the items, the time of the push and a seed, so that a repetition with
// the same key gets the same ids, and we need not store them.

/**
 * Pairs of time and priority that one push may schedule items for: one write brings all of its entries, so they must
 * fit into the record together.
 */
const TIMES_PER_PUSH_MAX = 64

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

const tooManyTimes = (times: number) =>
  invalid(
    'items',
    `Cannot schedule items for ${times} pairs of time and priority in one push because it takes ${TIMES_PER_PUSH_MAX}`,
  )
