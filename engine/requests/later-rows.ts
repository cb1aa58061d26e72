// The scheduled entries of a queue: the list in its record, and the rows into which seals copy that list. Pushes add
// to the end of the list, blindly. A write that takes entries out names their places, which are right if no other
// write has taken any out or changed a row: each of them raises `tv`, which must be as seen. Rows belong to an era, so
// a purge takes all of them away by beginning another. A write that changes a row requires it to be as read. A
// read may not yet show the rows of a transaction, so the record names those.

import type { Dynamo, Row } from '../../aws/dynamo.ts'
import type { Expression } from '../../aws/table.ts'
import { scheduledPartition, scheduledSortKey } from '../core/keys.ts'
import {
  dueOf,
  dueOfRow,
  type EntryRow,
  earliestDue,
  isDue,
  type Later,
  scheduledBytesAllowed,
  shortRow,
} from '../core/later.ts'
import { SEALS_BEHIND_MAX } from '../core/limits.ts'
import { asPrompt, isPatient, type QueueRecord, type Scheduled } from '../core/record.ts'
import { lowerCheckAt, recordUpdate, setCheckAt, unlessPatientSince } from './blind-updates.ts'
import { pack, unpack } from './segment-rows.ts'

/** Adds scheduled entries. The record that we saw need not be the newest. */
export function schedule(update: Expression, later: Later, seen: QueueRecord): void {
  // Use a placeholder, because an update that we hand out has names anyway.
  const [list, none] = [update.name('T'), update.value([])]
  const entries = update.value(later.entries)
  update.sets.push(`${list}=list_append(if_not_exists(${list},${none}),${entries})`)
  update.add('sc', later.items)
  update.add('tb', later.bytes)
  // A seal may be under way.
  const allowed = update.value(scheduledBytesAllowed(later))
  update.condition(`(attribute_not_exists(tb) OR tb<=${allowed})`)
  // The ids say how many seals there were. After many more seals, a call could not find the items.
  update.condition(`born=${update.value(seen.born)}`)
  const sealsMax = update.value(later.seals + SEALS_BEHIND_MAX)
  update.condition(`(attribute_not_exists(tg) OR tg<=${sealsMax})`)
}

/**
 * Lowers the queue's timer, unless it ends sooner. An update cannot take the lesser of two numbers, so we go by the
 * timer as seen; if that has moved, DynamoDB refuses and returns the record. `orAtMs`: the time to set if there is no
 * timer.
 */
export function lowerTimer(
  update: Expression,
  seen: QueueRecord,
  atMs: number,
  { nowMs, orAtMs = atMs }: { readonly nowMs: number; readonly orAtMs?: number | undefined },
): void {
  if (seen.checkAtMs !== undefined && seen.checkAtMs <= atMs) {
    lowerCheckAt(update, seen, atMs, nowMs)
    // Somebody may have put it off meanwhile: because it has ended, or to announce the queue.
    unlessPatientSince(update, seen.checkAtMs)
    return
  }
  update.condition(`(attribute_not_exists(checkAt) OR checkAt>${update.value(atMs)})`)
  setCheckAt(update, asPrompt(Math.min(atMs, orAtMs)), nowMs)
}

/** Requires that nobody has scheduled anything since, or taken anything out. */
export function asScheduled(update: Expression, scheduled: Scheduled): void {
  update.condition(areAsSeen(update, scheduled))
}

/** Requires the same, unless the timer shows that nothing is due by then. */
export function asScheduledBy(update: Expression, scheduled: Scheduled, nowMs: number): void {
  update.condition(`(checkAt>${update.value(nowMs)} OR (${areAsSeen(update, scheduled)}))`)
}

function areAsSeen(update: Expression, { items, changes }: Scheduled): string {
  const isAsMany = `sc=${update.value(items)}`
  const isNone = items === 0 && changes === 0
  return `${isNone ? `(attribute_not_exists(sc) OR ${isAsMany})` : isAsMany} AND ${isUnchanged(update, changes)}`
}

/** The scheduled entries that a write takes out. */
type Taken = {
  /** Places in the record's list. */
  readonly places: readonly number[]
  /** Entries that stay in the list but lose some items. */
  readonly changed?: ReadonlyMap<number, string>
  readonly items: number
  /** How many bytes the list loses. */
  readonly bytes: number
  readonly nextDue: number | undefined
  /** Rows that a read may not show yet; if absent, they stay as before. */
  readonly unseen?: readonly string[] | undefined
}

export function take(update: Expression, scheduled: Scheduled, taken: Taken): void {
  unchanged(update, scheduled.changes)
  for (const [place, entry] of taken.changed ?? []) update.set(`T[${place}]`, entry)
  // The highest comes first: if a store removes them one after the other, lower removals would shift higher places.
  for (const place of taken.places.toSorted((a, b) => b - a)) update.removes.push(`T[${place}]`)
  update.add('sc', -taken.items)
  update.add('tb', -taken.bytes)
  update.add('tv', 1)
  if (taken.nextDue === undefined) {
    if (scheduled.nextDue !== undefined) update.removes.push('nd')
  } else if (taken.nextDue !== scheduled.nextDue) update.set('nd', taken.nextDue)
  if (taken.unseen !== undefined) setUnseen(update, scheduled, taken.unseen)
}

function setUnseen(update: Expression, before: Scheduled, unseen: readonly string[]): void {
  if (unseen.join() === before.unseen.join()) return
  if (unseen.length === 0) update.removes.push('tu')
  else update.set('tu', unseen.map(shortRow))
}

/** Requires that no entry was taken out of the record, and that no row has changed. */
function unchanged(update: Expression, changes: number): void {
  update.condition(isUnchanged(update, changes))
}

const isUnchanged = (update: Expression, changes: number): string =>
  changes === 0 ? 'attribute_not_exists(tv)' : `tv=${update.value(changes)}`

/** Takes entries out in a separate write. */
export function takeUpdate(
  record: QueueRecord,
  taken: Taken,
  beside: (update: Expression) => void = () => {},
): ReturnType<Expression['build']> {
  const update = recordUpdate(record)
  take(update, record.scheduled, taken)
  beside(update)
  return update.build()
}

/** Takes out room that was kept for due items, if no other write has done so. */
export function takeKeptRoom(update: Expression, kept: number): void {
  if (kept === 0) return
  update.condition(`kr>=${update.value(kept)}`)
  update.add('kr', -kept)
}

/**
 * The timer may be put off, or be patient, for what is due and finds no room. If a write takes that out, the timer must
 * be in time for what comes due next, and Wake must come. `left`: the list without what is taken.
 */
export function timeLeft(
  { checkAtMs = Number.POSITIVE_INFINITY }: QueueRecord,
  left: readonly (string | undefined)[],
  nextDue: number | undefined,
  nowMs: number,
): number | undefined {
  const due = earliestDue({ entries: left.filter((entry) => entry !== undefined), nextDue })
  if (due === undefined || isDue(due, nowMs)) return undefined
  return checkAtMs > 1_000 * due || isPatient(checkAtMs) ? 1_000 * due : undefined
}

/**
 * Lets a fenced write schedule more items, in rows that the same transaction puts under the next seal's number, and
 * take entries of the record along.
 */
export function scheduleInRows(update: Expression, before: Scheduled, after: Scheduled): void {
  const { nextDue, seals, unseen } = after
  const left = new Set(after.entries)
  const places = [...before.entries.keys()].filter(
    (place) => !left.has(before.entries[place] as string),
  )
  const [items, bytes] = [before.items - after.items, before.bytes - after.bytes]
  take(update, before, { places, items, bytes, nextDue, unseen })
  update.set('tg', seals)
}

/** Changes nothing, and passes if no scheduled entry was taken out and no row has changed. */
export function asReadUpdate(seen: QueueRecord): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  unchanged(update, seen.scheduled.changes)
  update.sets.push('born=born')
  return update.build()
}

/** Notes that reads now show the rows of an answered transaction, if nobody has written any since. */
export function seenUpdate(
  seen: QueueRecord,
  unseen: readonly string[],
): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  unchanged(update, seen.scheduled.changes)
  setUnseen(update, seen.scheduled, unseen)
  return update.build()
}

/** Takes everything out: only rows of a new era count from now on. The sweeper deletes those that the mark names. */
export const purgeUpdate = (
  record: QueueRecord,
  /** The era that begins. */
  era: number,
  mark: string | undefined,
  { atMs, nowMs }: { readonly atMs: number; readonly nowMs: number },
): ReturnType<Expression['build']> => {
  const { entries, items, bytes } = record.scheduled
  const all = { places: [...entries.keys()], items, bytes, nextDue: undefined, unseen: [] }
  return takeUpdate(record, all, (update) => {
    update.set('te', era)
    if (mark === undefined) return
    update.sets.push(
      `td=list_append(if_not_exists(td,${update.value([])}),${update.value([mark])})`,
    )
    lowerCheckAt(update, record, atMs, nowMs)
  })
}

/** Notes that the rows of the first purge in the record are deleted. */
export function forgetPurgedUpdate(
  seen: QueueRecord,
  mark: string,
): ReturnType<Expression['build']> {
  const { purged } = seen.scheduled
  const update = recordUpdate(seen)
  update.condition(`td[0]=${update.value(mark)}`)
  update.condition(`size(td)=${update.value(purged.length)}`)
  update.removes.push(purged.length === 1 ? 'td' : 'td[0]')
  return update.build()
}

export const partitionOf = ({ queue, born, scheduled }: QueueRecord): string =>
  scheduledPartition(queue, born, scheduled.era)

/** The row that a purge adds to its era. It sorts after all others, where only the deletion of the era looks. */
export const PURGED_SORT_KEY = '~~'

/** The scheduled entries of one second and one seal, in the order in which they were pushed. */
type NewRow = Omit<EntryRow, 'stored'>

/** The rows that the next seal of this record makes from the entries at these places. */
export function rowsToSeal({ scheduled }: QueueRecord, places: readonly number[]): NewRow[] {
  const seals = scheduled.seals + 1
  const entries = places.map((place) => scheduled.entries[place] as string)
  return [...Map.groupBy(entries, dueOf)].map(([due, some]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    entries: some,
  }))
}

export const storedRow = (
  partition: string,
  { sk, entries }: Pick<NewRow, 'sk' | 'entries'>,
): Row => ({
  pk: partition,
  sk,
  d: pack(entries),
})

export function rowOf(row: Row): EntryRow {
  const [sk, stored] = [row.sk as string, row.d as Uint8Array]
  return { sk, due: dueOfRow(sk), entries: unpack(stored), stored }
}

/**
 * Rewrites a row with what is left of it, or deletes it, as part of a transaction. It passes if the row is as we read
 * it: our read of the record may have shown a write that our read of the row did not yet show.
 */
export function rewritten(
  TableName: string,
  partition: string,
  row: Pick<EntryRow, 'sk' | 'entries' | 'stored'>,
) {
  const asRead = {
    TableName,
    ConditionExpression: 'd=:d',
    ExpressionAttributeValues: { ':d': row.stored },
  }
  return row.entries.length > 0
    ? { Put: { ...asRead, Item: storedRow(partition, row) } }
    : { Delete: { ...asRead, Key: { pk: partition, sk: row.sk } } }
}

/** The first rows in order of time, from the sort key `from` to `to`. */
export async function scheduledRows(
  dynamo: Dynamo,
  partition: string,
  { from = '', to = '~', limit }: { from?: string; to?: string; limit: number },
): Promise<{ rows: EntryRow[]; more: boolean }> {
  const { rows, next } = await dynamo.query({
    KeyConditionExpression: 'pk=:pk AND sk BETWEEN :from AND :to',
    // All sort keys lie between these two.
    ExpressionAttributeValues: { ':pk': partition, ':from': from === '' ? '0' : from, ':to': to },
    ConsistentRead: true,
    Limit: limit,
  })
  return { rows: rows.map(rowOf), more: next !== undefined }
}

/** The first place after this sort key: no key has a space. */
export const behind = (sk: string): string => `${sk} `

/** The rows of one second that these seals wrote, from the first to the last. */
export async function rowsOfSeals(
  dynamo: Dynamo,
  partition: string,
  due: number,
  [first, last]: readonly [number, number],
): Promise<EntryRow[]> {
  if (last < first) return []
  const [from, to] = [scheduledSortKey(due, first), scheduledSortKey(due, last)]
  return (await scheduledRows(dynamo, partition, { from, to, limit: last - first + 1 })).rows
}

/** The unseen rows that a read still does not show. */
export async function unseenStill(dynamo: Dynamo, record: QueueRecord): Promise<readonly string[]> {
  const { unseen } = record.scheduled
  if (unseen.length === 0) return unseen
  const pk = partitionOf(record)
  // Mostly three at most. We read them one by one, because every function has the right to do that.
  const read = await Promise.all(unseen.map((sk) => dynamo.get({ pk, sk }, true)))
  return unseen.filter((_, at) => read[at] === undefined)
}
