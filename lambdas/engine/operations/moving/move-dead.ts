import { deadLetterQueueOf } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { decodeItem, encodeItem } from '../../core/entry.ts'
import { PUSH_BYTES_MAX } from '../../core/limits.ts'
import { take } from '../../core/ranges.ts'
import {
  type Dead,
  deliveriesOf,
  type Lane,
  type QueueRecord,
  stretchesOf,
} from '../../core/record.ts'
import { settle } from '../../core/settling.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { move } from './move.ts'
import { type LanesMoved, moveLanes } from './move-lanes.ts'

/** Items moved in one transaction: a part of a batch. */
const ITEMS_PER_MOVE = 100
/** 2,000 dead items at the most, one by one, and some lost races. */
const MOVES_MAX = 2_100
const LOSSES_MAX = 12

/** Priorities that a run of housekeeping finds stuck, each with a try of its own. */
const FAILURES_MAX = 20

type BuryOptions = {
  /** Priorities whose turn comes before all others'. */
  readonly first?: readonly number[]
  readonly movesMax?: number
  readonly failuresMax?: number
}

/**
 * Moves all dead items of a queue to its dead-letter queue. Here each of them takes the place of an item
 * in flight, so a priority that cannot be moved must not keep the others.
 */
export function buryDead(
  engine: Engine,
  queue: string,
  { first = [], movesMax = MOVES_MAX, failuresMax = FAILURES_MAX }: BuryOptions = {},
): Promise<LanesMoved> {
  // Another priority first each time: where many are stuck, those behind them get their turn.
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
        const dead = lane?.dead[0]
        if (lane === undefined || dead === undefined) continue
        if (isStuck(priority, lane, take([dead], ITEMS_PER_MOVE))) continue
        return { priority, run: () => moveDead(engine, record, priority, dead) }
      }
      return undefined
    },
  })
}

async function moveDead(engine: Engine, record: QueueRecord, priority: number, dead: Dead) {
  const { queue } = record
  const stretches = stretchesOf(priority, take([dead], ITEMS_PER_MOVE))
  const read = await engine.items.read(record, stretches, PUSH_BYTES_MAX)
  if (read.kind === 'missing') return undefined
  const moved = read.entries.length
  const draft = settle(record, stretchesOf(priority, take([dead], moved)))
  const nowMs = engine.clock.nowMs()
  const change = changeOf(engine, record, draft, { nowMs })
  const lane = record.lanes.get(priority) as Lane
  const entries = read.entries.map((entry, index) => {
    const death = { atMs: nowMs, deliveries: deliveriesOf(lane, dead.from + index) }
    const item = { ...decodeItem(entry), moved: { reason: dead.reason, death } }
    return encodeItem(item, randomText(engine.random, 4))
  })
  const committed = await move(engine, change, deadLetterQueueOf(queue), priority, entries)
  return committed.kind === 'committed' ? { moved, record: committed.record } : undefined
}
