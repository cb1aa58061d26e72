import { randomText } from '../../../foundation/random-text.ts'
import { appendOf } from '../../core/append.ts'
import { itemPutOff } from '../../core/moving.ts'
import type { QueueRecord } from '../../core/record.ts'
import { mustSealBefore } from '../../core/to-seal.ts'
import { commitBeside } from '../attempts/commit.ts'
import { busy, changeOf, type Engine, pause, readRecord } from '../attempts/engine.ts'
import { discardBatches, discardUnlessOpen } from '../lanes/entries.ts'
import type { Moved, Moving } from '../later/place-scheduled.ts'
import {
  type Coming,
  type Placing,
  placedStill,
  placeIn,
  readTarget,
} from '../later/place-scheduled.ts'
import { type Placement, placementOf, targetOf } from '../later/placement.ts'
import { sealLater } from '../later/seal-later.ts'

/** If others take out or seal scheduled items this often, the queue is busy, and the caller should know soon. */
const TRIES_MAX = 8

/**
 * Makes waiting items scheduled, here or in another queue, in their order. One transaction takes them out of their
 * lanes and puts the row from which they will join, so each is in one place at any time. If a join, a seal or a cancel
 * comes in between, it changes the scheduled items, and this write fails.
 */
export async function putOff(engine: Engine, moving: Moving, dueMs: number): Promise<Moved> {
  const { record, to, priority, items, options } = moving
  const target = await readTarget(engine, record, { queue: to, priority })
  if (mustSealBefore(target, Math.ceil(dueMs / 1_000), options.nowMs)) {
    await sealLater(engine, target)
    return { kind: 'blocked' }
  }
  const placing = await placeIn(engine, target, comingFrom(engine, moving, dueMs))
  const batches = appendOf(new Map([[0, placing.entries.map(({ entry }) => entry)]]))
  const put = await putPlaced(engine, moving, placing).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, to, batches, error)
    throw error
  })
  engine.memory.delete(to)
  if (put.kind === 'committed') {
    const ids = items.map(({ id }, at) => [id, placing.ids[at]] as const)
    return { kind: 'moved', ids, after: put.after }
  }
  await discardBatches(engine, to, batches)
  return put
}

type Put =
  | { readonly kind: 'committed'; readonly after: QueueRecord | undefined }
  | Exclude<Moved, { readonly kind: 'moved' }>

/** In a busy queue, another write may come first. The batches stay valid for the next tries. */
async function putPlaced(engine: Engine, moving: Moving, placing: Placing): Promise<Put> {
  const { record, to: queue, priority } = moving
  let placed: Placing | undefined = placing
  for (let tries = 1; tries <= TRIES_MAX && placed !== undefined; tries += 1) {
    const { change, beside } = writeOf(engine, moving, placed)
    const committed = await commitBeside(engine, change, beside)
    if (committed.kind === 'lost') return committed
    if (committed.kind === 'committed') {
      return { kind: 'committed', after: committed.record }
    }
    await pause(engine, tries)
    const target = await readTarget(engine, record, { queue, priority })
    placed = await placedStill(engine, placing, target)
  }
  if (placed !== undefined) throw busy(queue)
  return { kind: 'lost', current: await readRecord(engine, record.queue) }
}

function comingFrom(engine: Engine, moving: Moving, dueMs: number): Coming[] {
  const { record, to, priority, items, texts, options } = moving
  const due = Math.ceil(dueMs / 1_000)
  // An item that comes back from the dead letters counts as new anyway, from when it is due.
  const times = { nowMs: options.nowMs, redriven: {} }
  return items.map((named, at) => ({
    due,
    priority: priority ?? named.priority,
    item: itemPutOff(to, record, named, texts[at] as string, times),
    tag: randomText(engine.random, 4),
  }))
}

function writeOf(engine: Engine, { record, draft, options }: Moving, placing: Placing) {
  const { tableName: TableName } = engine.dynamo
  const placement = placementOf(engine, placing)
  const puts = placement.rows.map((Item) => ({ Put: { TableName, Item } }))
  if (placing.target !== record) {
    const target = { TableName, ...targetOf(placing, placement) }
    return {
      change: changeOf(engine, record, draft, options),
      beside: [{ Update: target }, ...puts],
    }
  }
  const after = withScheduled(draft, placement)
  const scheduling = { ...options, scheduledMs: placement.dueMs }
  return { change: changeOf(engine, record, after, scheduling), beside: puts }
}

function withScheduled(draft: QueueRecord, placement: Placement): QueueRecord {
  const { items, places, bytes, seals, nextDue, unseen } = placement
  const { scheduled } = draft
  const changed = {
    entries: scheduled.entries.filter((_, place) => !places.includes(place)),
    bytes: scheduled.bytes - bytes,
    items: scheduled.items + items,
    changes: scheduled.changes + 1,
    seals,
    nextDue,
    unseen,
  }
  return { ...draft, timed: true, scheduled: { ...scheduled, ...changed } }
}
