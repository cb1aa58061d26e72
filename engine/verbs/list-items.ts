// Pages of items, taken by nobody: `browse` shows what waits, in the order of pops, and `scheduled` what is for later,
// in the order of time. A page is made from one record, as it was read, and from rows that are read after it. Where
// both have an entry, because a seal came in between, it counts once; where a row has gone because its items have
// joined, it shows nothing. A cursor names the place of an item, so the next page goes on there even if the item is
// gone.

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import type { LastingName, Told } from '../../shared/item-fields.ts'
import { present } from '../../shared/wire.ts'
import { checkLimit, checkMs, checkPriority } from '../core/check-requests.ts'
import { expiryOf } from '../core/expiry.ts'
import {
  decodeItem,
  escapedBytes,
  isReference,
  lastingOf,
  type PoppedItem,
  toldOf,
} from '../core/item.ts'
import { type ItemPlace, itemId, scheduledSortKey } from '../core/keys.ts'
import {
  decodeScheduled,
  dueOf,
  dueOfRow,
  indexesLeft,
  type ScheduledEntry,
  scheduledId,
} from '../core/later.ts'
import {
  ANSWER_BYTES_MAX,
  CLAIM_BLIND_ITEMS,
  ITEMS_PER_POP_MAX,
  PAGE_DEFAULT,
} from '../core/limits.ts'
import {
  includes,
  intersect,
  lastNumbers,
  normalised,
  numbersOf,
  type Range,
  type Ranges,
  take,
} from '../core/ranges.ts'
import {
  deliveriesOf,
  type Lane,
  type QueueRecord,
  type Stretch,
  stretchesOf,
} from '../core/record.ts'
import {
  type BrowseOrder,
  badCursor,
  decodeCursor,
  encodeCursor,
  lanesFrom,
  lockedNow,
  placeOf,
  visibleIn,
  waitingNow,
} from '../core/views.ts'
import { attempts, readingCourse } from '../driver/attempts.ts'
import { act, answer, done } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { behind, partitionOf, scheduledRows } from '../requests/later-rows.ts'
import { entriesAt } from '../storing/write-entries.ts'

/** Of an item. */
export type ItemState = {
  /** `expired`: still stored, but no pop returns it. */
  readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
  /** For a waiting item: when it comes back. */
  readonly retryAtMs?: number
}

export type BrowseRequest = {
  readonly priority?: number | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Begins at this item, or at its former place if it is gone. */
  readonly from?: string | undefined
  /** `newest`: backwards, from the end. */
  readonly order?: 'oldest' | 'newest' | undefined
}

export type BrowsePage = {
  readonly items: readonly (PoppedItem & ItemState)[]
  readonly cursor?: string
}

export type ScheduledRequest = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Only items that are due from this time on, and up to `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export type ScheduledItem = Told<'id' | 'priority' | 'pushedAtMs' | LastingName> & {
  readonly text: string
  readonly dueMs: number
}

export type ScheduledPage = {
  readonly items: readonly ScheduledItem[]
  readonly cursor?: string
}

export interface PagingVerbs {
  browse(queue: string, request?: BrowseRequest): Promise<BrowsePage>
  /** The scheduled items, in the order of time. */
  scheduled(queue: string, request?: ScheduledRequest): Promise<ScheduledPage>
}

type Browsing = {
  readonly priority: number | undefined
  readonly limit: number
  readonly order: BrowseOrder
  readonly place: ItemPlace | undefined
}

/** Shows the next items in the order of pops, or the last ones backwards, without taking them. */
export async function browse(
  engine: Engine,
  queue: string,
  request: BrowseRequest = {},
): Promise<BrowsePage> {
  checkQueueId(queue)
  const { priority, limit = PAGE_DEFAULT, cursor, from, order = 'oldest' } = request
  if (priority !== undefined) checkPriority(priority)
  checkLimit(limit, ITEMS_PER_POP_MAX)
  if (order !== 'oldest' && order !== 'newest') {
    throw new QueueError('INVALID_PARAMETER', 'order must be oldest or newest', { field: 'order' })
  }
  const first = from === undefined ? undefined : placeOf(from, priority)
  // The first page begins at `from`, each later one where the page before it ended.
  const place = cursor === undefined ? first : decodeCursor(cursor, order)
  const course = { ...readingCourse(queue), from: 'store' } as const
  return attempts<BrowsePage>(engine, queue, course, ({ record }) => {
    if (record === undefined) return answer({ items: [] })
    return act(async () => {
      const page = await pageOf(engine, record, { priority, limit, order, place })
      return page === undefined ? { kind: 'missing', record } : done(page)
    })
  })
}

async function pageOf(
  engine: Engine,
  record: QueueRecord,
  { priority, limit, order, place }: Browsing,
): Promise<BrowsePage | undefined> {
  const nowMs = engine.clock.nowMs()
  const items: BrowsePage['items'][number][] = []
  let bytes = ANSWER_BYTES_MAX
  for (const { lane, within } of lanesFrom(record, priority, place, order)) {
    const p = lane.priority
    const visible = visibleIn(record, lane)
    const locked = lockedNow(record, p, visible, nowMs)
    const waiting = waitingNow(record, p, visible, nowMs)
    const cursorAt = (sequence: number): string =>
      encodeCursor({ priority: p, epoch: lane.epoch, sequence }, order)
    // One more than fits says whether there is another page.
    const numbers = numbersIn(intersect(visible, [within]), limit - items.length + 1, order)
    const picks = numbers.slice(0, limit - items.length)
    const entries = await readEntries(engine, record, p, picks, order, bytes)
    if (entries === undefined) return undefined
    for (const [index, entry] of entries.entries()) {
      const sequence = picks[index] as number
      bytes -= escapedBytes(decodeItem(entry).text)
      if (items.length > 0 && bytes < 0) return { items, cursor: cursorAt(sequence) }
      const retry = waiting.find(({ ranges }) => includes(ranges, sequence))
      const state: ItemState = includes(locked, sequence)
        ? { state: 'locked' }
        : retry === undefined
          ? { state: 'ready' }
          : { state: 'waiting', retryAtMs: retry.retryAtMs }
      items.push(viewOf(record, lane, sequence, entry, state, nowMs))
    }
    const next = numbers[entries.length]
    if (next !== undefined) return { items, cursor: cursorAt(next) }
  }
  return { items }
}

function viewOf(
  { configuration }: QueueRecord,
  lane: Lane,
  sequence: number,
  entry: string,
  state: ItemState,
  nowMs: number,
): BrowsePage['items'][number] {
  const { epoch, priority } = lane
  const item = decodeItem(entry)
  const expiresAtMs = expiryOf(item, configuration)
  const isOver = expiresAtMs !== undefined && expiresAtMs <= nowMs
  return {
    ...toldOf(item),
    id: itemId({ epoch, priority, sequence }),
    priority,
    // The count of an item that waits for its retry lacks the last delivery until it comes back.
    deliveries: deliveriesOf(lane, sequence) + (state.state === 'ready' ? 0 : 1),
    ...(state.state !== 'locked' && isOver ? { state: 'expired' } : state),
    ...present({ expiresAtMs }),
  }
}

const numbersIn = (ranges: Ranges, count: number, order: BrowseOrder): number[] =>
  order === 'newest' ? lastNumbers(ranges, count) : [...numbersOf(take(ranges, count))]

/** The entries of these numbers: at least the first, and as many as fit into an answer. */
async function readEntries(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  numbers: readonly number[],
  order: BrowseOrder,
  bytesMax: number,
): Promise<readonly string[] | undefined> {
  if (order === 'oldest') {
    const read = await engine.items.read(record, stretchesAt(priority, numbers), bytesMax)
    return read.kind === 'missing' ? undefined : read.entries
  }
  const entries: string[] = []
  let left = bytesMax
  // A read goes forwards and stops when it is full, so read only as many at a time as fit whatever their size.
  for (let at = 0; at < numbers.length && (at === 0 || left > 0); at += CLAIM_BLIND_ITEMS) {
    const some = numbers.slice(at, at + CLAIM_BLIND_ITEMS)
    const read = await engine.items.read(record, stretchesAt(priority, some))
    if (read.kind === 'missing') return undefined
    for (const entry of [...read.entries].reverse()) {
      left -= escapedBytes(decodeItem(entry).text)
      entries.push(entry)
    }
  }
  return entries
}

const stretchesAt = (priority: number, numbers: readonly number[]): Stretch[] =>
  stretchesOf(priority, normalised(numbers.map((n): Range => ({ from: n, to: n + 1 }))))

/** Rows a query: about as many items as a page has by default, and more. */
const ROWS_PER_QUERY = 25
/** Queries a page, some milliseconds each: a row has nothing to show if its batches have joined meanwhile. */
const QUERIES_MAX = 40

/** `entries` is undefined where the page must end, although more rows may follow. */
type Listed = { readonly sk: string; readonly entries: readonly string[] | undefined }
/** After this item of this row, or after the whole row if there is no id. */
type Place = { readonly sk: string; readonly id: string }

/** Lists scheduled items in the order of time. It takes nothing out, and nothing joins. */
export async function scheduled(
  engine: Engine,
  queue: string,
  request: ScheduledRequest = {},
): Promise<ScheduledPage> {
  checkQueueId(queue)
  const { limit = PAGE_DEFAULT, cursor } = request
  checkLimit(limit, ITEMS_PER_POP_MAX)
  checkMs(request.fromMs ?? 0, 'from')
  checkMs(request.toMs ?? 0, 'to')
  const place = cursor === undefined ? undefined : placeIn(cursor)
  const record = await engine.records.read(queue)
  if (record === undefined || record.scheduled.items === 0) return { items: [] }
  const items: ScheduledItem[] = []
  let bytes = ANSWER_BYTES_MAX
  let last: Place | undefined
  const met = new Set<string>()
  for await (const { sk, entries } of listed(engine, record, request, place)) {
    if (entries === undefined) return { items, cursor: cursorOf({ sk, id: '' }) }
    for (const entry of entriesBehind(entries, placeAt(place, sk))) {
      // If a seal came between our two reads, the entry is in the record and in a row. Its first place counts.
      const name = scheduledId({ ...entry, index: undefined })
      if (met.has(name)) continue
      met.add(name)
      const left = entry.indexes.slice(0, limit - items.length + 1)
      const texts = await textsOf(engine, queue, entry, left)
      for (const [at, text] of (texts ?? []).entries()) {
        const item = itemOf(entry, text, left[at])
        bytes -= escapedBytes(item.text)
        if (last !== undefined && (items.length === limit || bytes < 0)) {
          return { items, cursor: cursorOf(last) }
        }
        items.push(item)
        last = { sk, id: item.id }
      }
    }
  }
  return { items }
}

/** Rows, with the record's entries merged in where the next seal would put them. */
async function* listed(
  engine: Engine,
  record: QueueRecord,
  { fromMs = 0, toMs }: ScheduledRequest,
  place: Place | undefined,
): AsyncGenerator<Listed> {
  const first = scheduledSortKey(Math.ceil(fromMs / 1_000), 0)
  const to =
    toMs === undefined ? '~' : `${scheduledSortKey(Math.floor(toMs / 1_000), 0).slice(0, 10)}#~`
  const start = place !== undefined && place.sk > first ? place.sk : first
  const inRecord = recordRows(record).filter(({ sk }) => sk >= start && sk <= to)
  let from = start
  for (let queries = 1; from <= to; queries += 1) {
    const query = { from, to, limit: ROWS_PER_QUERY }
    const { rows, more } = await scheduledRows(engine.dynamo, partitionOf(record), query)
    const end = more ? (rows.at(-1)?.sk ?? from) : '~'
    const ours = inRecord.splice(0, inRecord.filter(({ sk }) => sk <= end).length)
    yield* [...rows, ...ours].sort((a, b) => (a.sk < b.sk ? -1 : 1))
    if (!more) return
    if (queries === QUERIES_MAX) yield { sk: end, entries: undefined }
    from = behind(end)
  }
  yield* inRecord
}

function recordRows({ scheduled }: QueueRecord): { sk: string; entries: string[] }[] {
  const rows = new Map<string, string[]>()
  for (const entry of scheduled.entries) {
    const due = dueOf(entry)
    const sk = scheduledSortKey(due, scheduled.seals + 1)
    rows.set(sk, [...(rows.get(sk) ?? []), entry])
  }
  return [...rows].map(([sk, entries]) => ({ sk, entries })).sort((a, b) => (a.sk < b.sk ? -1 : 1))
}

/** A move uses up the number of a seal; the record's entries then count as part of a later row of their second. */
const placeAt = (place: Place | undefined, sk: string): Place | undefined =>
  sk === place?.sk || (place?.id && dueOfRow(sk) === dueOfRow(place.sk)) ? place : undefined

type Behind = ScheduledEntry & { readonly indexes: (number | undefined)[] }

function entriesBehind(entries: readonly string[], place: Place | undefined): Behind[] {
  const all = entries.map((text) => {
    const entry = decodeScheduled(text)
    return { ...entry, indexes: indexesLeft(entry) }
  })
  if (place === undefined) return all
  if (place.id === '') return []
  const at = all.findIndex((entry) =>
    place.id.startsWith(scheduledId({ ...entry, index: undefined })),
  )
  const entry = all[at]
  // The item has been cancelled since.
  if (entry === undefined) return all
  const left = entry.indexes.filter((index) => isBehind({ ...entry, index }, place.id))
  return [{ ...entry, indexes: left }, ...all.slice(at + 1)]
}

function isBehind(entry: ScheduledEntry & { index: number | undefined }, id: string): boolean {
  if (entry.index === undefined) return false
  return entry.index > Number.parseInt(id.slice(id.lastIndexOf('-') + 1), 36)
}

async function textsOf(
  engine: Engine,
  queue: string,
  { entry }: ScheduledEntry,
  indexes: readonly (number | undefined)[],
): Promise<readonly string[] | undefined> {
  if (!isReference(entry)) return indexes.length === 0 ? [] : [entry]
  return entriesAt(engine, queue, entry, indexes as number[])
}

function itemOf(entry: ScheduledEntry, stored: string, index: number | undefined): ScheduledItem {
  const { due, priority } = entry
  const id = scheduledId({ ...entry, index })
  return { ...lastingOf(decodeItem(stored)), id, priority, dueMs: 1_000 * due }
}

const cursorOf = ({ sk, id }: Place): string => Buffer.from(`${sk}.${id}`).toString('base64url')

function placeIn(cursor: string): Place {
  const [, sk, id] = cursorForm.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  if (sk === undefined || id === undefined) throw badCursor()
  return { sk, id }
}

const cursorForm = /^(\d{10}#\d{8})\.(t-[A-Za-z0-9_~-]{1,40}|)$/
