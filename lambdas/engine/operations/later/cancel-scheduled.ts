import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import {
  decodeScheduled,
  encodeScheduled,
  indexesLeft,
  parseScheduledId,
  type ScheduledId,
  scheduledBytes,
} from '../../core/scheduled.ts'
import { partitionOf, type ScheduledRow, storedRow } from '../../store/scheduled-rows.ts'
import { type Taken, takeUpdate } from '../../store/scheduled-updates.ts'
import { busy, type Engine, outcomeUnknown, pause, readRecord, seen } from '../attempts/engine.ts'
import { dropBatches } from './drop-rows.ts'
import { findScheduled, type ScheduledPlace } from './find-scheduled.ts'

/** Lost to others that seal, join or cancel. */
const ATTEMPTS_MAX = 24
/** Ids of one write: each may be in a row of its own, and a transaction takes 100. */
const IDS_PER_WRITE = 90

/**
 * Takes scheduled items out, by the ids that their push answered; returns those that it took. What has joined
 * meanwhile, or was cancelled before, is left out. A join and a cancellation of one item exclude each other, because
 * both pass while nothing has been taken out of what is scheduled since they looked.
 */
export async function cancelScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const cancelled = new Set<string>()
  for (let at = 0; at < ids.length; at += IDS_PER_WRITE) {
    const some = [...new Set(ids.slice(at, at + IDS_PER_WRITE))]
    for (const id of await cancelSome(engine, queue, some)) cancelled.add(id)
  }
  return cancelled
}

async function cancelSome(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await readRecord(engine, queue)
    if (record === undefined) return []
    const found = await Promise.all(
      ids.map(async (id) => {
        const wanted = parseScheduledId(id)
        const place = wanted && (await findScheduled(engine, record, wanted))
        return wanted && place && { id, wanted, place }
      }),
    )
    const change = changeOf(
      record,
      found.filter((one) => one !== undefined),
    )
    if (change.ids.length === 0) return []
    const written = await write(engine, record, change)
    if (written === 'done') {
      await dropBatches(engine, queue, change.spent)
      return change.ids
    }
    await pause(engine, attempt)
  }
  throw busy(queue)
}

type Found = { readonly id: string; readonly wanted: ScheduledId; readonly place: ScheduledPlace }

type Change = {
  readonly ids: readonly string[]
  readonly taken: Taken
  readonly rows: readonly ScheduledRow[]
  /** References of which nothing is left. */
  readonly spent: readonly string[]
}

/** What the record and the rows are without these items. */
function changeOf({ scheduled }: QueueRecord, found: readonly Found[]): Change {
  const ids: string[] = []
  const spent: string[] = []
  const lists = new Map<string, { row?: ScheduledRow; entries: (string | undefined)[] }>()
  for (const { id, wanted, place } of found) {
    const { row } = place
    const list = lists.get(row?.sk ?? '') ?? {
      ...(row && { row }),
      entries: [...(row?.entries ?? scheduled.entries)],
    }
    lists.set(row?.sk ?? '', list)
    const text = list.entries[place.place]
    const entry = text === undefined ? undefined : decodeScheduled(text)
    if (entry === undefined || !indexesLeft(entry).includes(wanted.index)) continue
    ids.push(id)
    const left = { ...entry, gone: [...entry.gone, wanted.index ?? 0] }
    const isGone = !isReference(entry.entry) || indexesLeft(left).length === 0
    if (isGone && isReference(entry.entry)) spent.push(entry.entry)
    list.entries[place.place] = isGone ? undefined : encodeScheduled(left)
  }
  const own = lists.get('')?.entries ?? scheduled.entries
  const places: number[] = []
  const changed = new Map<number, string>()
  let bytes = 0
  for (const [place, before] of scheduled.entries.entries()) {
    const after = own[place]
    if (after === before) continue
    bytes += scheduledBytes(before) - (after === undefined ? 0 : scheduledBytes(after))
    if (after === undefined) places.push(place)
    else changed.set(place, after)
  }
  const { nextDue } = scheduled
  const rows = [...lists.values()].flatMap(({ row, entries }) => {
    return row === undefined
      ? []
      : [{ ...row, entries: entries.filter((one) => one !== undefined) }]
  })
  return { ids, taken: { places, changed, items: ids.length, bytes, nextDue }, rows, spent }
}

async function write(
  engine: Engine,
  record: QueueRecord,
  { taken, rows }: Change,
): Promise<'done' | 'lost'> {
  const { queue } = record
  const update = takeUpdate(record, taken)
  if (rows.length === 0) {
    const written = await engine.dynamo.update(recordKey(queue), update)
    if (written.kind === 'unknown') throw outcomeUnknown(queue, written.cause)
    seen(engine, queue, written.row)
    return written.kind === 'done' ? 'done' : 'lost'
  }
  const { tableName: TableName } = engine.dynamo
  const partition = partitionOf(record)
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName, Key: recordKey(queue), ...update } },
      ...rows.map((row) =>
        row.entries.length === 0
          ? { Delete: { TableName, Key: { pk: partition, sk: row.sk } } }
          : { Put: { TableName, Item: storedRow(partition, row) } },
      ),
    ],
  })
  if (transacted.kind === 'unknown') throw outcomeUnknown(queue, transacted.cause)
  engine.memory.delete(queue)
  return transacted.kind === 'done' ? 'done' : 'lost'
}
