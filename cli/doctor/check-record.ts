// What must hold within one record: the order of its positions, the claims of its locks, its flags, and the sums that it
// keeps. It reads nothing else.

import { entryBytes, isTimed } from '../../engine/core/item.ts'
import { itemsOf, scheduledBytes } from '../../engine/core/later.ts'
import { countOf, intersect, type Range } from '../../engine/core/ranges.ts'
import {
  endOf,
  hasFree,
  inFlightOf,
  isDone,
  type Lane,
  type QueueRecord,
  type Stretch,
  segmentOf,
  unsettledIn,
} from '../../engine/core/record.ts'
import { noteBytes } from '../../engine/core/repeated-pushes.ts'
import { roomOf } from '../../engine/core/settings.ts'

/**
 * What must hold of a record by itself (docs/architecture.md, guarantees 4 and 5), and its counts: a sentence for each
 * rule that it breaks. It must be empty after every write, so a simulation can ask after each of its steps as well.
 */
export function contradictionsIn(record: QueueRecord): string[] {
  return [
    ...wrongLanes(record),
    ...wrongLocks(record),
    ...wrongFlags(record),
    ...wrongCounts(record),
    ...wrongScheduled(record),
  ]
}

function* wrongLanes({ lanes }: QueueRecord): Generator<string> {
  for (const [priority, lane] of lanes) {
    for (const why of wrongIn(lane)) yield `priority ${priority}: ${why}`
  }
}

function* wrongIn(lane: Lane): Generator<string> {
  const { head, frontier, sealed, offloaded, recalled, trimmed, segmentSize, holes, dead } = lane
  const end = endOf(lane)
  if (head > frontier || frontier > end) {
    yield `head ${head}, frontier ${frontier} and end ${end} are not in order`
  }
  if (segmentOf(lane, head) < trimmed) {
    yield `segments below ${trimmed} are trimmed, and the head is in ${segmentOf(lane, head)}`
  }
  if (offloaded.from < offloaded.to && offloaded.to * segmentSize > sealed) {
    yield `segments up to ${offloaded.to} are offloaded, and only ${sealed} items are sealed`
  }
  if (offloaded.from < offloaded.to && recalled > offloaded.to) {
    yield `segments up to ${recalled} are recalled, and up to ${offloaded.to} offloaded`
  }
  // Ahead of the frontier, too: items that a call took out by their ids (decision 0037).
  for (const { from, to } of holes) {
    if (from <= head || to > end) yield `the hole ${from}–${to} is not between head and end`
  }
  for (const { from, to } of dead) {
    if (from < head || to > frontier)
      yield `the dead items ${from}–${to} are not between head and frontier`
    if (intersect([{ from, to }], holes).length > 0)
      yield `items of ${from}–${to} are dead and settled`
  }
  yield* notApart('holes', holes)
  yield* notApart('dead items', dead)
  yield* notApart('counts of deliveries', lane.deliveries)
}

function* notApart(what: string, ranges: readonly Range[]): Generator<string> {
  for (const [index, { from, to }] of ranges.entries()) {
    if (from >= to) yield `${what}: ${from}–${to} is no range`
    const next = ranges[index + 1]
    if (next !== undefined && next.from < to) {
      yield `${what}: ${from}–${to} and ${next.from}–${next.to} overlap, or are not in order`
    }
  }
}

function* wrongLocks(record: QueueRecord): Generator<string> {
  const held = new Map<number, Range[]>()
  let earliestMs = Number.POSITIVE_INFINITY
  for (const lock of record.locks.values()) {
    if (!isDone(lock)) earliestMs = Math.min(earliestMs, lock.expiresAtMs)
    for (const stretch of lock.stretches) {
      yield* wrongStretch(record, stretch)
      held.set(stretch.priority, [...(held.get(stretch.priority) ?? []), stretch])
    }
  }
  for (const [priority, ranges] of held) {
    ranges.sort((a, b) => a.from - b.from)
    for (const [index, { to }] of ranges.entries()) {
      const next = ranges[index + 1]
      if (next !== undefined && next.from < to)
        yield `two locks hold item ${next.from} of priority ${priority}`
    }
  }
  const isWatched = record.checkAtMs !== undefined && record.checkAtMs <= earliestMs
  if (Number.isFinite(earliestMs) && !isWatched) {
    yield 'a lock ends before the sweeper is to look at the queue'
  }
}

function* wrongStretch({ lanes }: QueueRecord, { priority, from, to }: Stretch): Generator<string> {
  const which = `items ${from}–${to} of priority ${priority}`
  const lane = lanes.get(priority)
  if (lane === undefined || to > lane.frontier || from >= to) {
    yield `a lock holds ${which}, which were never handed out`
  } else if (countOf(intersect([{ from, to }], unsettledIn(lane))) < to - from) {
    yield `a lock holds ${which}, and some of them are settled`
  }
}

function* wrongFlags(record: QueueRecord): Generator<string> {
  if (record.dry && hasFree(record)) {
    yield 'it is marked as dry, and has something to pop: the next push makes no new event'
  }
  if (record.timed) return
  for (const [priority, { tail }] of record.lanes) {
    if (tail.some(isTimed)) {
      yield `an item of priority ${priority} has times of its own, and the record says that none has: pops would return it after it has expired`
    }
  }
}

function* wrongCounts(record: QueueRecord): Generator<string> {
  let tailBytes = 0
  let unsettled = 0
  for (const lane of record.lanes.values()) {
    for (const entry of lane.tail) tailBytes += entryBytes(entry)
    unsettled += countOf(unsettledIn(lane))
  }
  for (const note of record.notes.values()) tailBytes += noteBytes(note)
  const counts = [
    { name: 'bytes of tails and notes', said: record.tailBytes, counted: tailBytes },
    { name: 'items in flight', said: record.inFlight, counted: inFlightOf(record) },
    {
      name: 'room',
      said: record.room + record.keptRoom,
      counted: roomOf(record.configuration) - unsettled,
    },
  ]
  for (const { name, said, counted } of counts) {
    if (said !== counted) yield miscounted(said, name, counted)
  }
}

/** Of the items for later, as far as the record alone can tell; `check-stored.ts` counts those in rows. */
function* wrongScheduled({ scheduled, checkAtMs }: QueueRecord): Generator<string> {
  const { entries, items, bytes, nextDue } = scheduled
  let counted = 0
  let bytesCounted = 0
  for (const entry of entries) {
    counted += itemsOf(entry)
    bytesCounted += scheduledBytes(entry)
  }
  if (bytes !== bytesCounted) yield miscounted(bytes, 'bytes of scheduled entries', bytesCounted)
  const mayHaveRows = nextDue !== undefined
  if (mayHaveRows ? items < counted : items !== counted) {
    yield miscounted(items, 'scheduled items', counted)
  }
  if (items > 0 && checkAtMs === undefined) {
    yield `${items} items are scheduled, and nobody is to look at the queue`
  }
}

export const miscounted = (said: number, name: string, counted: number): string =>
  `it counts ${said} ${name}, and a recount gives ${counted}`
