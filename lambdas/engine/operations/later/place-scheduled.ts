import type { Row } from '../../../foundation/dynamo.ts'
import type { Expression } from '../../../foundation/expression.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { decodeItem, encodeItem, entryBytes, isReference, tagOf } from '../../core/entry.ts'
import { recordKey, scheduledSortKey } from '../../core/keys.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import { itemFor } from '../../core/moving.ts'
import type { QueueRecord } from '../../core/record.ts'
import {
  encodeScheduled,
  joinedSecond,
  type ScheduledEntry,
  scheduledId,
} from '../../core/scheduled.ts'
import { TIMED_FORMAT } from '../../core/stored-record.ts'
import type { Removal } from '../../core/take-scheduled.ts'
import { writeBatch } from '../../store/batches.ts'
import { partitionOf, storedRow } from '../../store/scheduled-rows.ts'
import { lowerTimer, takeUpdate } from '../../store/scheduled-updates.ts'
import { busy, type Engine, readRecord } from '../attempts/engine.ts'
import { ensureLane } from '../lanes/lanes.ts'
import { entriesAt } from './entries-to-join.ts'

/** Where items go that are taken out of what is scheduled, and stay scheduled. */
export type NewPlace = {
  readonly dueMs?: number | undefined
  readonly priority?: number | undefined
  readonly queue?: string | undefined
}

/** What they become there. */
export type Placing = {
  readonly target: QueueRecord
  readonly entries: readonly ScheduledEntry[]
}

export const idOfPlaced = (placed: ScheduledEntry): string =>
  scheduledId({ ...placed, index: isReference(placed.entry) ? 0 : undefined })

/** The same items as entries of their own; fewer, where a batch is gone meanwhile. */
export async function placedAnew(
  engine: Engine,
  record: QueueRecord,
  { items }: Removal,
  { dueMs, priority, queue: to = record.queue }: NewPlace,
): Promise<Placing> {
  const target = to === record.queue ? record : await recordOf(engine, to, priority)
  // What is due in the second of the last row that joined would count as joined.
  const earliest = joinedSecond(target.scheduled) + 1
  const entries: ScheduledEntry[] = []
  for (const { entry, index } of items) {
    const [stored] = isReference(entry.entry)
      ? ((await entriesAt(engine, record.queue, entry.entry, [index ?? 0])) ?? [])
      : [entry.entry]
    if (stored === undefined) continue
    const place = {
      due: Math.max(dueMs === undefined ? entry.due : Math.ceil(dueMs / 1_000), earliest),
      seals: target.scheduled.seals,
      random: randomText(engine.random, 8),
      priority: priority ?? entry.priority,
      gone: [],
    }
    entries.push({ ...place, entry: await entryAt(engine, to, place, stored) })
  }
  return { target, entries }
}

async function recordOf(
  engine: Engine,
  queue: string,
  priority: number | undefined,
): Promise<QueueRecord> {
  const record = await readRecord(engine, queue)
  if (record !== undefined) return record
  engine.memory.delete(queue)
  await ensureLane(engine, queue, priority ?? 0)
  const made = await readRecord(engine, queue)
  if (made === undefined) throw busy(queue)
  return made
}

/** A large one in a batch of its own: rows hold many. It has its times in itself then, as others get when they join. */
async function entryAt(
  engine: Engine,
  to: string,
  place: Omit<ScheduledEntry, 'entry'>,
  stored: string,
): Promise<string> {
  const { dueMs: _, scheduledId: __, ...old } = decodeItem(stored)
  const item = itemFor(to, old, { atMs: engine.clock.nowMs(), deliveries: 0 })
  const entry = encodeItem(item, tagOf(stored))
  if (entryBytes(entry) <= INLINE_BYTES_MAX) return entry
  const times = { dueMs: 1_000 * place.due, scheduledId: scheduledId({ ...place, index: 0 }) }
  const batch = randomText(engine.random, 8)
  return writeBatch(engine, to, batch, [encodeItem({ ...item, ...times }, tagOf(stored))])
}

type Placement = {
  readonly rows: readonly Row[]
  readonly items: number
  readonly nextDue: number
  readonly beside: (update: Expression) => void
}

/** The new rows are as those of a seal: under a key that no other write can have. */
export function placementOf(engine: Engine, { target, entries }: Placing): Placement {
  const { scheduled } = target
  const seals = scheduled.seals + 1
  const rows = [...Map.groupBy(entries, ({ due }) => due)].map(([due, some]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    seals,
    entries: some.map(encodeScheduled),
  }))
  const earliest = Math.min(...rows.map(({ due }) => due))
  return {
    rows: rows.map((row) => storedRow(partitionOf(target), row)),
    items: entries.length,
    nextDue: Math.min(earliest, scheduled.nextDue ?? earliest),
    beside(update) {
      update.set('tg', seals)
      lowerTimer(update, target, 1_000 * earliest, { nowMs: engine.clock.nowMs() })
    },
  }
}

/** The other queue's part of the write. It counts as an append, so that nobody forgets the queue meanwhile. */
export function targetOf({ target }: Placing, placement: Placement) {
  const { items, nextDue, beside } = placement
  const taken = { places: [], items: -items, bytes: 0, nextDue }
  return {
    Key: recordKey(target.queue),
    ...takeUpdate(target, taken, (update) => {
      beside(update)
      update.set('fm', TIMED_FORMAT)
      update.add('a', 1)
    }),
  }
}
