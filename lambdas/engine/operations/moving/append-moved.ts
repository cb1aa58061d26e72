import { isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { type Append, appendOf, type Placed, tailBytesAllowed } from '../../core/append.ts'
import { encodeItem } from '../../core/entry.ts'
import { itemId } from '../../core/keys.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import { movedItem, withAppended } from '../../core/moving.ts'
import type { QueueRecord } from '../../core/record.ts'
import { commit } from '../attempts/commit.ts'
import { changeOf, type Engine, readRecord, tailLimits } from '../attempts/engine.ts'
import { byReference, discardBatches, discardUnlessOpen } from '../lanes/entries.ts'
import { ensureLane } from '../lanes/lanes.ts'
import { seal, sealAfter } from '../lanes/seal.ts'
import type { Moved, Moving, NotMoved } from '../later/place-scheduled.ts'
import { findMoved } from './find-moved.ts'
import { makeRoom } from './make-room.ts'
import { moveLanesBeside } from './move.ts'
import { timesOfRedriven } from './times-of-redriven.ts'

type Appended = {
  readonly kind: 'moved'
  readonly addition: Append
  readonly after: QueueRecord | undefined
}

type Lanes = ReadonlyMap<number, readonly string[]>

/** Moves the items to the ends of lanes, in this queue or another. */
export async function appendMoved(engine: Engine, moving: Moving): Promise<Moved> {
  const lanes = await lanesOf(engine, moving)
  const isWithin = moving.to === moving.record.queue
  const appended = await (isWithin ? moveWithin : moveAcross)(engine, moving, lanes)
  if (appended.kind !== 'moved') return appended
  const ids = await newIds(engine, moving, lanes, appended)
  return { kind: 'moved', ids, after: appended.after }
}

/** What the items become at the other place, by lane. */
async function lanesOf(engine: Engine, moving: Moving): Promise<Lanes> {
  const { record, items, texts, to, priority, options } = moving
  const comesBack = isDeadLetterQueue(record.queue) && !isDeadLetterQueue(to)
  const redriven = comesBack ? await timesOfRedriven(engine, to) : {}
  const times = { nowMs: options.nowMs, redriven }
  const lanes = new Map<number, string[]>()
  for (const [index, item] of items.entries()) {
    const moved = movedItem(to, record, item, texts[index] as string, times)
    const entry = encodeItem(moved, randomText(engine.random, 4))
    const lane = priority ?? item.priority
    const entries = lanes.get(lane)
    if (entries === undefined) lanes.set(lane, [entry])
    else entries.push(entry)
  }
  return lanes
}

/** Moves them to another lane of the queue: one fenced write takes the items out and appends them. */
async function moveWithin(
  engine: Engine,
  { record, draft, options, to: queue }: Moving,
  lanes: Lanes,
): Promise<Appended | NotMoved> {
  for (const priority of lanes.keys()) {
    if (record.lanes.has(priority)) continue
    await ensureLane(engine, queue, priority)
    return { kind: 'blocked' }
  }
  const inline = appendOf(lanes)
  const addition =
    inline.bytes <= INLINE_BYTES_MAX ? inline : await byReference(engine, queue, lanes)
  const tailBytesMax = tailBytesAllowed(addition, tailLimits(engine))
  if (record.tailBytes > tailBytesMax) {
    await discardBatches(engine, queue, addition)
    await seal(engine, record)
    return { kind: 'blocked' }
  }
  const guards = { ...options.guards, tailBytesMax }
  const change = changeOf(engine, record, withAppended(draft, addition), { ...options, guards })
  const committed = await commit(engine, change).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, queue, addition, error)
    throw error
  })
  if (committed.kind === 'lost') {
    await discardBatches(engine, queue, addition)
    return committed
  }
  await sealAfter(engine, committed.record, addition.bytes)
  return { kind: 'moved', addition, after: committed.record }
}

/** Moves them to another queue: a transaction of two records. That queue's capacity counts: the items are new there. */
async function moveAcross(
  engine: Engine,
  { record, draft, options, to }: Moving,
  lanes: Lanes,
): Promise<Appended | NotMoved> {
  const change = changeOf(engine, record, draft, options)
  const committed = await moveLanesBeside(engine, change, to, lanes, { makeRoom })
  if (committed.kind !== 'committed') return committed
  return { kind: 'moved', addition: committed.addition, after: committed.record }
}

/** The move stands, whether or not we can find the new places of the items. */
async function newIds(
  engine: Engine,
  { to, priority, record, items }: Moving,
  lanes: Lanes,
  { addition, after }: Appended,
): Promise<[string, string | undefined][]> {
  const find = async () =>
    findMoved(engine, addition, lanes, to === record.queue ? after : await readRecord(engine, to))
  const placed = await find().catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: to, step: 'find-moved' })
    return new Map<number, never>() as Placed
  })
  const used = new Map<number, number>()
  return items.map((item) => {
    const lane = priority ?? item.priority
    const index = used.get(lane) ?? 0
    used.set(lane, index + 1)
    const at = placed.get(lane)
    return [item.id, at && itemId({ epoch: at.epoch, priority: lane, sequence: at.start + index })]
  })
}
