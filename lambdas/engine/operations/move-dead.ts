import { deadLetterQueueOf } from '../../foundation/queue-id.ts'
import { randomText } from '../../foundation/random-text.ts'
import { decodeItem, encodeItem } from '../core/entry.ts'
import { PUSH_BYTES_MAX } from '../core/limits.ts'
import { take } from '../core/ranges.ts'
import { type Dead, type QueueRecord, stretchesOf } from '../core/record.ts'
import { settle } from '../core/settling.ts'
import { changeOf, type Engine } from './engine.ts'
import { move } from './move.ts'
import { type LanesMoved, moveLanes } from './move-lanes.ts'

/** Items moved in one transaction: a part of a batch. */
const ITEMS_PER_MOVE = 100
/** 2,000 dead items at the most, one by one, and some lost races. */
const MOVES_MAX = 2_100
const LOSSES_MAX = 12

/**
 * Moves all dead items of a queue to its dead-letter queue. Here each of them takes the place of an item
 * in flight, so a priority that cannot be moved must not keep the others.
 */
export function buryDead(engine: Engine, queue: string): Promise<LanesMoved> {
  // Another priority first each time: where S3 is out of reach, those that do not need it get their turn.
  const start = engine.random()
  return moveLanes(engine, queue, {
    movesMax: MOVES_MAX,
    lossesMax: LOSSES_MAX,
    next(record, isStuck) {
      const lanes = [...record.lanes]
      const first = Math.floor(start * lanes.length)
      for (const [priority, lane] of [...lanes.slice(first), ...lanes.slice(0, first)]) {
        const dead = lane.dead[0]
        if (dead === undefined || isStuck(priority)) continue
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
  const change = changeOf(engine, record, draft, { nowMs: engine.clock.nowMs() })
  const entries = read.entries.map((entry) => {
    const item = { ...decodeItem(entry), moved: { reason: dead.reason } }
    return encodeItem(item, randomText(engine.random, 4))
  })
  const committed = await move(engine, change, deadLetterQueueOf(queue), priority, entries)
  return committed.kind === 'committed' ? { moved, record: committed.record } : undefined
}
