// Redrive: dead letters back to the lanes that they came from. One transaction of two records moves up to 100 of a
// lane, so each item is in one of the queues at any time. After a lost race we read the record and try again, to a
// bound. Items that were pushed here by hand stay, and so do locked ones; we remember, for this call, which we have
// read.

import { deadLetterQueueOf, isDeadLetterQueue, originOf } from '../../shared/bounds.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { checkLimit } from '../core/check-requests.ts'
import { decodeItem, encodeItem, type Item, lastingOf } from '../core/item.ts'
import { IN_FLIGHT_MAX, ITEMS_PER_REDRIVE_MAX, PUSH_BYTES_MAX } from '../core/limits.ts'
import {
  type NamedItem,
  namedItems,
  standingOfEach,
  stretchesOfNamed,
  takeOut,
} from '../core/named-items.ts'
import {
  countOf,
  none,
  normalised,
  numbersOf,
  type Range,
  type Ranges,
  subtract,
  take,
} from '../core/ranges.ts'
import {
  freeIn,
  inFlightOf,
  type Lane,
  lanesInOrder,
  type QueueRecord,
  stretchesIn,
  stretchesOf,
  unsettledIn,
} from '../core/record.ts'
import { leaveDryQuietly } from '../driver/attempts.ts'
import type { Engine } from '../driver/engine.ts'
import { ITEMS_PER_MOVE, type LanesMoved, move, moveLanes } from '../storing/move-across.ts'
import { timesOfRedriven } from './move.ts'

export type RedriveRequest = {
  readonly limit?: number | undefined
  /** Only these items. Give either this or a limit. */
  readonly ids?: readonly string[] | undefined
}

export interface RedrivingVerbs {
  redrive(
    deadLetterQueue: string,
    request?: RedriveRequest,
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
}

const LOSSES_MAX = 24
/** 1,000 items one by one, reads of items that stay, and lost races. */
const MOVES_MAX = 2_000
/** How many items pushed by hand one call reads past; what lies behind them waits for the next call. */
const STAYING_MAX = 10_000

/**
 * Moves dead-lettered items back to the end of the lanes they came from, in order, with their priorities.
 */
export async function redrive(
  engine: Engine,
  queue: string,
  request: RedriveRequest = {},
): Promise<{ itemsRedriven: number; itemsLeft: number }> {
  checkQueueId(queue)
  if (!isDeadLetterQueue(queue)) {
    const message = `Cannot redrive "${queue}" because its dead letters are in "${deadLetterQueueOf(queue)}": redrive that`
    throw new QueueError('INVALID_QUEUE_ID', message, { field: 'id' })
  }
  const { limit = ITEMS_PER_REDRIVE_MAX, ids } = request
  checkLimit(limit, ITEMS_PER_REDRIVE_MAX)
  if (ids !== undefined && request.limit !== undefined) {
    const message = 'ids cannot go with limit: name the items, or say how many'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'ids' })
  }
  const named = ids && namedItems(ids)
  const { moved, record, failure } = await moveBack(engine, queue, limit, named)
  if (moved > 0) await leaveDryQuietly(engine, record)
  if (failure !== undefined) throw moved > 0 ? QueueError.partly(failure) : failure
  return { itemsRedriven: moved, itemsLeft: itemsLeftIn(record) }
}

function itemsLeftIn(record: QueueRecord | undefined): number {
  let left = 0
  for (const lane of record?.lanes.values() ?? []) left += countOf(unsettledIn(lane))
  return left
}

function moveBack(
  engine: Engine,
  queue: string,
  limit: number,
  named: readonly NamedItem[] | undefined,
): Promise<LanesMoved> {
  // Items that stay, by lane, so that each is read once.
  const staying = new Map<number, Ranges>()
  return moveLanes(engine, queue, {
    to: originOf(queue),
    movesMax: MOVES_MAX,
    lossesMax: LOSSES_MAX,
    next(record, isStuck, moved) {
      const nowMs = engine.clock.nowMs()
      if (moved >= limit || inFlightOf(record) > IN_FLIGHT_MAX - ITEMS_PER_MOVE) return undefined
      for (const [priority, lane] of lanesInOrder(record)) {
        const stays = staying.get(priority) ?? none
        const wanted = named ? waitingIn(record, lane, named, nowMs) : freeIn(record, lane)
        const free = subtract(wanted, stays)
        if (free.length === 0 || countOf(stays) >= STAYING_MAX) continue
        const picks = take(free, Math.min(ITEMS_PER_MOVE, limit - moved))
        if (isStuck(priority, lane, picks)) continue
        return {
          priority,
          run: () => moveSome(engine, record, { priority, picks, staying }),
        }
      }
      return undefined
    },
  })
}

/** Items that are free, or wait for their retry. */
const waitingIn = (
  record: QueueRecord,
  { epoch, priority }: Lane,
  named: readonly NamedItem[],
  nowMs: number,
): Ranges => {
  const ofLane = named.filter((item) => item.priority === priority && item.epoch === epoch)
  return stretchesIn(stretchesOfNamed(standingOfEach(record, ofLane, nowMs).waiting), priority)
}

type Some = {
  readonly priority: number
  readonly picks: Ranges
  readonly staying: Map<number, Ranges>
}

/** Moves those picks that came from the queue; notes the others as staying. */
async function moveSome(engine: Engine, record: QueueRecord, { priority, picks, staying }: Some) {
  const read = await engine.items.read(record, stretchesOf(priority, picks), PUSH_BYTES_MAX)
  if (read.kind === 'missing') return undefined
  const moving: Range[] = []
  const stay: Range[] = []
  const items: Item[] = []
  const numbers = [...numbersOf(picks)].slice(0, read.entries.length)
  for (const [index, from] of numbers.entries()) {
    const item = decodeItem(read.entries[index] as string)
    if (item.reason === undefined) {
      stay.push({ from, to: from + 1 })
    } else {
      moving.push({ from, to: from + 1 })
      items.push(lastingOf(item))
    }
  }
  staying.set(priority, normalised([...(staying.get(priority) ?? none), ...stay]))
  if (items.length === 0) return { moved: 0, record }
  const times = await timesOfRedriven(engine, originOf(record.queue))
  const entries = items.map((item) =>
    encodeItem({ ...item, ...times }, randomText(engine.random, 4)),
  )
  const stretches = stretchesOf(priority, normalised(moving))
  const nowMs = engine.clock.nowMs()
  const change = engine.records.change(record, takeOut(record, stretches, nowMs), { nowMs })
  const committed = await move(engine, change, originOf(record.queue), priority, entries)
  return committed.kind === 'committed'
    ? { moved: entries.length, record: committed.record }
    : undefined
}
