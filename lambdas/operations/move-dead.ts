import { decodeItem, encodeItem } from '../core/entry.ts'
import { deadLetterQueueOf } from '../core/keys.ts'
import { PUSH_BYTES_MAX } from '../core/limits.ts'
import { randomText } from '../core/random-text.ts'
import { take } from '../core/ranges.ts'
import { type Dead, type QueueRecord, stretchesOf } from '../core/record.ts'
import { settle } from '../core/settling.ts'
import { busy, changeOf, type Engine, pause, readRecord } from './engine.ts'
import { move } from './move.ts'

/** Items moved in one transaction: a part of a batch. */
const ITEMS_PER_MOVE = 100
/** 2,000 dead items at the most, one by one, and some lost races. */
const MOVES_MAX = 2_100
const LOSSES_MAX = 12

/** Moves all dead items of a queue to its dead-letter queue. Returns how many. */
export async function buryDead(engine: Engine, queue: string): Promise<number> {
  let moved = 0
  let losses = 0
  let record = await readRecord(engine, queue)
  for (let attempt = 1; attempt <= MOVES_MAX; attempt += 1) {
    const next = record && firstDead(record)
    if (record === undefined || next === undefined) return moved
    const { priority, dead } = next
    const stretches = stretchesOf(priority, take([dead], ITEMS_PER_MOVE))
    const read = await engine.items.read(record, stretches, PUSH_BYTES_MAX)
    const count = read.kind === 'read' ? read.entries.length : 0
    let committed: Awaited<ReturnType<typeof move>> | undefined
    if (read.kind === 'read') {
      const nowMs = engine.clock.nowMs()
      const draft = settle(record, stretchesOf(priority, take([dead], count)))
      const change = changeOf(engine, record, draft, { nowMs })
      const entries = read.entries.map((entry) => {
        const item = { ...decodeItem(entry), moved: { reason: dead.reason } }
        return encodeItem(item, randomText(engine.random, 4))
      })
      committed = await move(engine, change, deadLetterQueueOf(queue), priority, entries)
    }
    if (committed?.kind === 'committed') {
      moved += count
      record = committed.record ?? (await readRecord(engine, queue))
      losses = 0
      continue
    }
    losses += 1
    if (losses === LOSSES_MAX) throw busy(queue)
    await pause(engine, losses)
    record = await readRecord(engine, queue)
  }
  return moved
}

function firstDead(record: QueueRecord): { priority: number; dead: Dead } | undefined {
  for (const [priority, lane] of record.lanes) {
    const dead = lane.dead[0]
    if (dead !== undefined) return { priority, dead }
  }
  return undefined
}
