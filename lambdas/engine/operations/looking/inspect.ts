import { checkQueueId } from '../../../foundation/queue-id.ts'
import { type Configuration, tagOf } from '../../core/configuration.ts'
import { pushedAtMsOf } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import { liveLocks } from '../../core/locks.ts'
import { countOf } from '../../core/ranges.ts'
import { itemsIn, lanesInOrder, type QueueRecord } from '../../core/record.ts'
import { isRetry } from '../../core/retry.ts'
import { earliestDue } from '../../core/scheduled.ts'
import { decodeRecord, type StoredRecord } from '../../core/stored-record.ts'
import {
  blockedField,
  countWaiting,
  etagOf,
  laneView,
  lockedNow,
  oldestInTails,
  visibleIn,
} from '../../core/views.ts'
import type { InspectRequest, QueueState } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { configurationByNow } from '../attempts/patterns.ts'

/** Lanes whose first items we read at a time, to tell how old the oldest is. */
const LANES_AT_ONCE = 16

export async function inspect(
  engine: Engine,
  queue: string,
  { consistent = false, oldest = false }: InspectRequest = {},
): Promise<QueueState> {
  checkQueueId(queue)
  // We do not remember this record: it may be older than the one this engine knows.
  const row = await engine.dynamo.get(recordKey(queue), consistent)
  const record = row && decodeRecord(row as StoredRecord)
  if (record === undefined) return stateOfNothing(queue, await configurationByNow(engine, queue))
  const nowMs = engine.clock.nowMs()
  const lanes = lanesInOrder(record)
  const visible = lanes.map(([, lane]) => visibleIn(record, lane))
  const lockedCount = lanes.reduce(
    (sum, [priority], i) => sum + countOf(lockedNow(record, priority, visible[i] ?? [], nowMs)),
    0,
  )
  const oldestPushedAtMs = oldest ? await readOldest(engine, record) : oldestInTails(record)
  return {
    queue,
    version: record.version,
    count: visible.reduce((sum, ranges) => sum + countOf(ranges), 0),
    lockedCount,
    waitingCount: lanes.reduce(
      (sum, [priority], i) => sum + countWaiting(record, priority, visible[i] ?? [], nowMs),
      0,
    ),
    ...blockedField(record, nowMs),
    deadCount: lanes.reduce((sum, [, lane]) => sum + countOf(lane.dead), 0),
    scheduledCount: record.scheduled.items,
    ...nextDue(record),
    ...(oldestPushedAtMs !== undefined && { oldestPushedAtMs }),
    lanes: lanes.map(([, lane]) => laneView(record, lane)),
    locks: liveLocks(record, nowMs)
      .filter(([lockId]) => !isRetry(lockId))
      .map(([, lock]) => lock)
      .sort((one, other) => one.expiresAtMs - other.expiresAtMs)
      .map((lock) => ({
        expiresAtMs: lock.expiresAtMs,
        count: itemsIn(lock.stretches),
        priorities: [...new Set(lock.stretches.map(({ priority }) => priority))],
      })),
    configuration: record.configuration,
    etag: etagOf(record),
  }
}

function nextDue({ scheduled }: QueueRecord): { nextDueMs?: number } {
  const due = earliestDue(scheduled)
  return due === undefined ? {} : { nextDueMs: 1_000 * due }
}

const stateOfNothing = (queue: string, configuration: Configuration): QueueState => ({
  queue,
  version: 0,
  count: 0,
  lockedCount: 0,
  waitingCount: 0,
  deadCount: 0,
  scheduledCount: 0,
  lanes: [],
  locks: [],
  configuration,
  etag: `"${tagOf(configuration)}"`,
})

/** Reads the first item of each lane, wherever it is. */
async function readOldest(engine: Engine, record: QueueRecord): Promise<number | undefined> {
  let earliest: number | undefined
  const lanes = [...record.lanes.values()]
  for (let at = 0; at < lanes.length; at += LANES_AT_ONCE) {
    await Promise.all(
      lanes.slice(at, at + LANES_AT_ONCE).map(async (lane) => {
        const first = visibleIn(record, lane)[0]
        if (first === undefined) return
        const stretch = { priority: lane.priority, from: first.from, to: first.from + 1 }
        const read = await engine.items.read(record, [stretch])
        // The item has gone meanwhile, because this view shows a record that is out of date by now.
        const entry = read.kind === 'read' ? read.entries[0] : undefined
        if (entry === undefined) return
        earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, pushedAtMsOf(entry))
      }),
    )
  }
  return earliest
}
