// Room in a full queue, taken from what nobody needs: items that are acknowledged but not yet folded, and expired
// ones, which nobody removes while consumers are away. Due items come first: they take the room that is kept for them.
// Other writers may take whatever room this makes, so the caller looks at the record that it returns.

import { nothingFound, passableIn, passOver, sortOut } from '../core/expiry.ts'
import { ANSWER_BYTES_MAX, LOOK_FURTHER_ITEMS } from '../core/limits.ts'
import { doneLocks } from '../core/locks.ts'
import { take } from '../core/ranges.ts'
import {
  freeIn,
  itemsIn,
  type Lane,
  type QueueRecord,
  type Stretch,
  stretchesOf,
} from '../core/record.ts'
import { type Engine, tryToFold } from '../driver/engine.ts'
import { useKeptRoom } from './join-due.ts'
import { buryDead } from './move-across.ts'

/** Each round takes out expired items at the front of a lane; a push of a thousand may need several lanes. */
const ROUNDS_MAX = 20

/** Makes room for so many items. Returns the record after that, which may be as full as before. */
export async function makeRoom(
  engine: Engine,
  record: QueueRecord,
  items: number,
): Promise<QueueRecord | undefined> {
  let current: QueueRecord | undefined = record
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    if (current === undefined || current.room >= items) return current
    if (doneLocks(current) > 0) {
      // However this ends, the record shows whether there is room now.
      await tryToFold(engine, current)
      current = await engine.records.read(record.queue)
    } else if (current.keptRoom > 0) {
      const used = await useKeptRoom(engine, current)
      if (used.isLost) return used.record
      current = used.record
    } else if (await expireForRoom(engine, current))
      current = await engine.records.read(record.queue)
    else return current
  }
  return current
}

/** Transactions that move the items that became dead, a hundred each: until then they take up room. */
const MOVES_MAX = 5

/**
 * Expired items take up the room of a bounded queue until a pop passes over them, and while consumers are away no
 * pop does. So a push that finds no room takes out the expired items at the front of a lane. Returns whether there
 * may be room now. If something goes wrong, it reports that, and the queue counts as full.
 */
async function expireForRoom(engine: Engine, record: QueueRecord): Promise<boolean> {
  if (!record.timed) return false
  try {
    const expired = await expireAtFront(engine, record)
    const dead = record.configuration.expired === 'dead_letter'
    if (expired === 0 || !dead) return expired > 0
    const { moved } = await buryDead(engine, record.queue, { movesMax: MOVES_MAX, failuresMax: 1 })
    return moved > 0
  } catch (error) {
    engine.onBackgroundError(error, { queue: record.queue, step: 'expire' })
    return false
  }
}

/** How many lanes it looks at; each time it chooses others. */
const LANES_LOOKED_AT = 4

/** Returns how many it took out. If another writer was first, the record that it left shows whether there is room. */
async function expireAtFront(engine: Engine, record: QueueRecord): Promise<number> {
  const nowMs = engine.clock.nowMs()
  const lanes = [...record.lanes.values()].filter((lane) => freeIn(record, lane).length > 0)
  const start = Math.floor(engine.random() * lanes.length)
  const inTurn = [...lanes.slice(start), ...lanes.slice(0, start)].slice(0, LANES_LOOKED_AT)
  for (const lane of inTurn) {
    if ((await overAtFront(engine, record, lane, 1, nowMs)).length === 0) continue
    const over = await overAtFront(engine, record, lane, LOOK_FURTHER_ITEMS, nowMs)
    if (over.length === 0) continue
    const draft = passOver(record, over)
    // If we still refuse this push, the next one must make an event.
    const change = engine.records.change(record, draft, { nowMs, setsDry: engine.events })
    const committed = await engine.records.commit(change)
    if (committed.kind === 'committed') engine.onItemsExpired(itemsIn(over))
    return itemsIn(over)
  }
  return 0
}

/** Stops at the first item that has not expired, because the frontier moves past all that we return. */
async function overAtFront(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  most: number,
  nowMs: number,
): Promise<readonly Stretch[]> {
  const stretches = stretchesOf(lane.priority, take(freeIn(record, lane), most))
  const read = await engine.items.read(record, stretches, ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return []
  const { entries } = read
  return sortOut(record, nothingFound, { stretches, entries }, nowMs, {
    wanted: 0,
    passable: passableIn(record),
    bytesMax: 0,
    bytesOf: () => 0,
  }).over
}
