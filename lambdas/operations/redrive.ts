import { decodeItem, encodeItem } from '../core/entry.ts'
import { QueueError } from '../core/errors.ts'
import { checkQueueId, isDeadLetterQueue, originOf } from '../core/keys.ts'
import { IN_FLIGHT_MAX, PUSH_BYTES_MAX } from '../core/limits.ts'
import { passFrontier } from '../core/pop.ts'
import { randomText } from '../core/random-text.ts'
import { countOf, normalised, numbersOf, type Ranges, subtract, take } from '../core/ranges.ts'
import {
  freeIn,
  inFlightOf,
  lanesInOrder,
  type QueueRecord,
  type Stretch,
  stretchesOf,
  unsettledIn,
} from '../core/record.ts'
import { settle } from '../core/settling.ts'
import { busy, changedAllTheSame, changeOf, type Engine, pause, readRecord } from './engine.ts'
import { leaveDryQuietly } from './leave-dry.ts'
import { move } from './move.ts'

const LIMIT_MAX = 1_000
const ITEMS_PER_MOVE = 100
const LOSSES_MAX = 24
/** Items pushed by hand that one call reads past; what lies behind more of them is left. */
const STAYING_MAX = 10_000

/**
 * Moves dead-lettered items back to the end of the lanes they came from, in order, with their
 * priorities. Locked items and items pushed here by hand stay. One transaction moves up to 100.
 */
export async function redrive(
  engine: Engine,
  queue: string,
  { limit = LIMIT_MAX }: { readonly limit?: number } = {},
): Promise<{ itemsRedriven: number; itemsLeft: number }> {
  checkQueueId(queue)
  if (!isDeadLetterQueue(queue)) {
    throw new QueueError('INVALID_QUEUE_ID', `"${queue}" is not a dead-letter queue`, {
      field: 'id',
    })
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new QueueError('INVALID_PARAMETER', `limit must be an integer from 1 to ${LIMIT_MAX}`, {
      field: 'limit',
    })
  }
  const done = { itemsRedriven: 0 }
  const record = await redriveItems(engine, queue, limit, done).catch((error: unknown) => {
    throw done.itemsRedriven > 0 ? changedAllTheSame(error) : error
  })
  if (done.itemsRedriven > 0) await leaveDryQuietly(engine, record)
  return { ...done, itemsLeft: itemsLeftIn(record) }
}

async function redriveItems(
  engine: Engine,
  queue: string,
  limit: number,
  done: { itemsRedriven: number },
): Promise<QueueRecord | undefined> {
  let losses = 0
  let record = await readRecord(engine, queue)
  // Items that stay, by lane, so that each is read once.
  const staying = new Map<number, Ranges>()
  while (record !== undefined && done.itemsRedriven < limit) {
    const found = await nextToMove(engine, record, staying, limit - done.itemsRedriven)
    if (found === 'none' || inFlightOf(record) > IN_FLIGHT_MAX - ITEMS_PER_MOVE) break
    if (found !== 'missing') {
      const { stretches, entries, priority } = found
      const nowMs = engine.clock.nowMs()
      const settled = settle(passFrontier(record, stretches), stretches)
      // Items that stay may lie behind the frontier now, free: claims must not pass them over.
      const draft = { ...settled, returns: settled.returns + 1 }
      const change = changeOf(engine, record, draft, { nowMs })
      const moved = await move(engine, change, originOf(queue), priority, entries)
      if (moved.kind === 'committed') {
        done.itemsRedriven += entries.length
        losses = 0
        record = moved.record ?? (await readRecord(engine, queue))
        continue
      }
    }
    losses += 1
    if (losses === LOSSES_MAX) {
      if (done.itemsRedriven > 0) break
      throw busy(queue)
    }
    await pause(engine, losses)
    record = await readRecord(engine, queue)
  }
  return record
}

async function nextToMove(
  engine: Engine,
  record: QueueRecord,
  staying: Map<number, Ranges>,
  limit: number,
): Promise<
  'none' | 'missing' | { priority: number; stretches: readonly Stretch[]; entries: string[] }
> {
  for (const [priority, lane] of lanesInOrder(record)) {
    let free = subtract(freeIn(record, priority, lane), staying.get(priority) ?? [])
    while (free.length > 0 && countOf(staying.get(priority) ?? []) < STAYING_MAX) {
      const picks = take(free, Math.min(ITEMS_PER_MOVE, limit))
      const read = await engine.items.read(record, stretchesOf(priority, picks), PUSH_BYTES_MAX)
      if (read.kind === 'missing') return 'missing'
      const numbers = [...numbersOf(picks)].slice(0, read.entries.length)
      const moving: { from: number; to: number }[] = []
      const entries: string[] = []
      const stay: { from: number; to: number }[] = []
      for (const [index, from] of numbers.entries()) {
        const { moved, ...item } = decodeItem(read.entries[index] as string)
        if (moved === undefined) {
          stay.push({ from, to: from + 1 })
        } else {
          moving.push({ from, to: from + 1 })
          entries.push(encodeItem(item, randomText(engine.random, 4)))
        }
      }
      const kept = normalised([...(staying.get(priority) ?? []), ...stay])
      staying.set(priority, kept)
      if (entries.length > 0) {
        return { priority, stretches: stretchesOf(priority, normalised(moving)), entries }
      }
      free = subtract(free, kept)
    }
  }
  return 'none'
}

function itemsLeftIn(record: QueueRecord | undefined): number {
  let left = 0
  for (const lane of record?.lanes.values() ?? []) left += countOf(unsettledIn(lane))
  return left
}
