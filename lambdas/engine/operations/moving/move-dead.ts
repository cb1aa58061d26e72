import { deadLetterQueueOf } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { decodeItem, encodeItem } from '../../core/entry.ts'
import { PUSH_BYTES_MAX } from '../../core/limits.ts'
import { numbersOf, type Ranges, take } from '../../core/ranges.ts'
import {
  type Dead,
  deliveriesOf,
  type Lane,
  type QueueRecord,
  stretchesOf,
} from '../../core/record.ts'
import { settle } from '../../core/settling.ts'
import { isInS3 } from '../../core/stored-in.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { move } from './move.ts'
import { type LanesMoved, moveLanes } from './move-lanes.ts'

/** Items moved in one transaction: a part of a batch. */
const ITEMS_PER_MOVE = 100
/** 2,000 dead items at the most, one by one, and some lost races. */
const MOVES_MAX = 2_100
const LOSSES_MAX = 12

/** How many priorities a run of housekeeping may find stuck; it tries each of them once. */
const FAILURES_MAX = 20

type BuryOptions = {
  /** Priorities that come before all others. */
  readonly first?: readonly number[]
  readonly movesMax?: number
  readonly failuresMax?: number
}

/**
 * Moves all dead items of a queue to its dead-letter queue. While they stay, each takes the place of an item
 * in flight, so a priority that cannot be moved must not hold back the others.
 */
export function buryDead(
  engine: Engine,
  queue: string,
  { first = [], movesMax = MOVES_MAX, failuresMax = FAILURES_MAX }: BuryOptions = {},
): Promise<LanesMoved> {
  // Start with another priority each time: if many are stuck, those behind them still get their turn.
  const start = engine.random()
  return moveLanes(engine, queue, {
    to: deadLetterQueueOf(queue),
    movesMax,
    lossesMax: LOSSES_MAX,
    failuresMax,
    next(record, isStuck) {
      const all = [...record.lanes.keys()]
      const from = Math.floor(start * all.length)
      for (const priority of [...first, ...all.slice(from), ...all.slice(0, from)]) {
        const lane = record.lanes.get(priority)
        if (lane === undefined || lane.dead.length === 0) continue
        const picks = firstDead(lane)
        if (isStuck(priority, lane, picks)) continue
        return { priority, run: () => moveDead(engine, record, lane, picks) }
      }
      return undefined
    },
  })
}

/** Takes several stretches together, but never those in S3 with others, which must not wait until S3 can be reached. */
function firstDead(lane: Lane): Ranges {
  const [first, ...others] = lane.dead as readonly [Dead, ...Dead[]]
  const place = isInS3(lane, first)
  const end = others.findIndex((range) => isInS3(lane, range) !== place)
  return take([first, ...(end < 0 ? others : others.slice(0, end))], ITEMS_PER_MOVE)
}

async function moveDead(engine: Engine, record: QueueRecord, lane: Lane, picks: Ranges) {
  const { priority } = lane
  const to = deadLetterQueueOf(record.queue)
  const read = await readDead(engine, record, priority, picks)
  if (read?.kind !== 'read') return undefined
  const moved = read.entries.length
  const draft = settle(record, stretchesOf(priority, take(picks, moved)))
  const nowMs = engine.clock.nowMs()
  const numbers = [...numbersOf(picks)]
  const entries = read.entries.map((entry, index) => {
    const sequence = numbers[index] as number
    const death = { atMs: nowMs, deliveries: deliveriesOf(lane, sequence) }
    const { text, pushedAtMs } = decodeItem(entry)
    const moved = { reason: reasonOf(lane, sequence), death }
    return encodeItem({ text, pushedAtMs, moved }, randomText(engine.random, 4))
  })
  const change = changeOf(engine, record, draft, { nowMs })
  const committed = await move(engine, change, to, priority, entries)
  return committed.kind === 'committed' ? { moved, record: committed.record } : undefined
}

/** If we cannot read all of them, we read only the first stretch: a lost one must not hold back the one before it. */
async function readDead(engine: Engine, record: QueueRecord, priority: number, picks: Ranges) {
  const read = (ranges: Ranges) =>
    engine.items.read(record, stretchesOf(priority, ranges), PUSH_BYTES_MAX)
  const isAlone = picks.length === 1
  const all = await read(picks).catch((error: unknown) => {
    if (isAlone) throw error
    return undefined
  })
  return all?.kind === 'read' || isAlone ? all : read(picks.slice(0, 1))
}

const reasonOf = ({ dead }: Lane, sequence: number): string =>
  (dead.find(({ from, to }) => from <= sequence && sequence < to) as Dead).reason
