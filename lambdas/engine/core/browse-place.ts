import { QueueError } from '../../foundation/errors.ts'
import { parseItemId } from './keys.ts'
import type { Range } from './ranges.ts'
import { type Lane, lanesInOrder, type QueueRecord } from './record.ts'
import { parseScheduledId } from './scheduled.ts'

/** From the front, in the order of pops, or backwards from the end. */
export type BrowseOrder = 'oldest' | 'newest'

/** Where a page of browsing begins: in this lane, with this number. */
export type BrowsePlace = {
  readonly priority: number
  readonly epoch: string
  readonly sequence: number
}

/** A cursor works for one order only: in the other, the next page would repeat items already shown. */
export const encodeCursor = (
  { priority, epoch, sequence }: BrowsePlace,
  order: BrowseOrder,
): string =>
  Buffer.from(
    `${order === 'newest' ? 'n' : ''}${priority}.${epoch}.${Math.max(0, sequence)}`,
  ).toString('base64url')

const cursorForm = /^(n?)(\d{1,10})\.([A-Za-z0-9_~]{8})\.(\d{1,12})$/

export function decodeCursor(cursor: string, order: BrowseOrder): BrowsePlace {
  const match = cursorForm.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (match === null || (match[1] === 'n') !== (order === 'newest')) throw badCursor()
  return { priority: Number(match[2]), epoch: match[3] as string, sequence: Number(match[4]) }
}

export const badCursor = (): QueueError =>
  new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier page gave', {
    field: 'cursor',
  })

/** The place of an item. If the item is gone, the page starts with the one after it. */
export function placeOf(from: string, priority: number | undefined): BrowsePlace {
  const place = parseItemId(from)
  if (place !== undefined && (priority === undefined || priority === place.priority)) return place
  const problem =
    place !== undefined
      ? `must be the id of an item of priority ${priority}`
      : parseScheduledId(from) === undefined
        ? "must be an item's id"
        : 'is the id of a scheduled item, which is not among these before it is due'
  throw new QueueError('INVALID_PARAMETER', `from ${problem}`, { field: 'from' })
}

/** The lanes that a page reads, each with the numbers that it may show. */
export function lanesFrom(
  record: QueueRecord,
  priority: number | undefined,
  place: BrowsePlace | undefined,
  order: BrowseOrder,
): { readonly lane: Lane; readonly within: Range }[] {
  const isNewest = order === 'newest'
  const lanes = lanesInOrder(record).filter(
    ([p]) =>
      (priority === undefined || p === priority) &&
      (place === undefined || (isNewest ? p <= place.priority : p >= place.priority)),
  )
  if (isNewest) lanes.reverse()
  return lanes.map(([p, lane]) => {
    const all = { from: 0, to: Number.MAX_SAFE_INTEGER }
    // If the lane was made anew since then, we read it from its beginning.
    if (p !== place?.priority || lane.epoch !== place.epoch) return { lane, within: all }
    return {
      lane,
      within: isNewest ? { ...all, to: place.sequence + 1 } : { ...all, from: place.sequence },
    }
  })
}
