import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { present } from '../../../foundation/shared/present.ts'
import {
  type BrowseOrder,
  type BrowsePlace,
  decodeCursor,
  encodeCursor,
  lanesFrom,
  placeOf,
} from '../../core/browse-place.ts'
import { checkLimit } from '../../core/check-limit.ts'
import { deadLetterOf, decodeItem, escapedBytes, scheduledOf } from '../../core/entry.ts'
import { expiryOf } from '../../core/expiry.ts'
import { itemId } from '../../core/keys.ts'
import {
  ANSWER_BYTES_MAX,
  CLAIM_BLIND_ITEMS,
  ITEMS_PER_POP_MAX,
  PAGE_DEFAULT,
} from '../../core/limits.ts'
import { checkPriority } from '../../core/push-request.ts'
import {
  includes,
  intersect,
  lastNumbers,
  normalised,
  numbersOf,
  type Range,
  type Ranges,
  take,
} from '../../core/ranges.ts'
import {
  deliveriesOf,
  type Lane,
  type QueueRecord,
  type Stretch,
  stretchesOf,
} from '../../core/record.ts'
import { lockedNow, visibleIn, waitingNow } from '../../core/views.ts'
import type { BrowsePage, BrowseRequest, ItemState } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, answer, done } from '../attempts/decision.ts'
import type { Engine } from '../attempts/engine.ts'
import { readingCourse } from '../attempts/missing-items.ts'

type Browsing = {
  readonly priority: number | undefined
  readonly limit: number
  readonly order: BrowseOrder
  readonly place: BrowsePlace | undefined
}

/** Shows the next items in the order of pops, or the last ones backwards, without taking them. */
export async function browse(
  engine: Engine,
  queue: string,
  request: BrowseRequest = {},
): Promise<BrowsePage> {
  checkQueueId(queue)
  const { priority, limit = PAGE_DEFAULT, cursor, from, order = 'oldest' } = request
  if (priority !== undefined) checkPriority(priority, 'priority')
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
    const entries = await entriesAt(engine, record, p, picks, order, bytes)
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
    text: item.text,
    id: itemId({ epoch, priority, sequence }),
    priority,
    pushedAtMs: item.pushedAtMs,
    // The count of an item that waits for its retry lacks the last delivery until it comes back.
    deliveries: deliveriesOf(lane, sequence) + (state.state === 'ready' ? 0 : 1),
    ...(state.state !== 'locked' && isOver ? { state: 'expired' } : state),
    ...deadLetterOf(item),
    ...scheduledOf(item),
    ...present({ expiresAtMs }),
  }
}

const numbersIn = (ranges: Ranges, count: number, order: BrowseOrder): number[] =>
  order === 'newest' ? lastNumbers(ranges, count) : [...numbersOf(take(ranges, count))]

/** The entries of these numbers: at least the first, and as many as fit into an answer. */
async function entriesAt(
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
