import { roomOf } from '../../../../lambdas/engine/core/configuration.ts'
import { entryBytes } from '../../../../lambdas/engine/core/entry.ts'
import { noteBytes } from '../../../../lambdas/engine/core/notes.ts'
import {
  countOf,
  intersect,
  type Range,
  type Ranges,
} from '../../../../lambdas/engine/core/ranges.ts'
import {
  endOf,
  inFlightOf,
  isDone,
  type Lane,
  type QueueRecord,
  type Stretch,
  segmentOf,
  unsettledIn,
} from '../../../../lambdas/engine/core/record.ts'
import { isPatient } from '../../../../lambdas/engine/core/timers.ts'

/** A consumer may wait for each of these times, and Wake comes for no patient timer. */
function checkTimer({ queue, checkAtMs, locks }: QueueRecord, broken: Broken): void {
  if (checkAtMs === undefined || !isPatient(checkAtMs)) return
  const waited = [...locks].find(([, lock]) => !isDone(lock))
  if (waited === undefined) return
  const [lockId, { expiresAtMs }] = waited
  broken(
    'a patient timer hides no prompt one',
    `${queue}: ${checkAtMs} hides ${lockId}, ${expiresAtMs}`,
  )
}

export type Broken = (rule: string, explanation: string) => void

/** Rules that a record keeps by itself, after every write. */
export function checkRecord(record: QueueRecord, broken: Broken): void {
  let tailBytes = 0
  let unsettled = 0
  for (const [priority, lane] of record.lanes) {
    const say: Broken = (rule, explanation) =>
      broken(rule, `${record.queue} lane ${priority}: ${explanation}`)
    checkLane(lane, say)
    for (const entry of lane.tail) tailBytes += entryBytes(entry)
    unsettled += countOf(unsettledIn(lane))
  }
  for (const note of record.notes.values()) tailBytes += noteBytes(note)
  checkLocks(record, broken)
  checkTimer(record, broken)
  expectEqual(broken, `${record.queue} tail bytes`, record.tailBytes, tailBytes)
  expectEqual(broken, `${record.queue} in flight`, record.inFlight, inFlightOf(record))
  const room = roomOf(record.configuration) - unsettled
  expectEqual(broken, `${record.queue} room`, record.room + record.keptRoom, room)
}

function expectEqual(broken: Broken, what: string, counted: number, recounted: number): void {
  if (counted === recounted) return
  broken('counts equal a recount', `${what} is ${counted}, a recount gives ${recounted}`)
}

function checkLane(lane: Lane, broken: Broken): void {
  const { head, frontier, offloaded, recalled, trimmed } = lane
  const end = endOf(lane)
  if (!(0 <= head && head <= frontier && frontier <= end)) {
    broken('head ≤ frontier ≤ end', `${head}, ${frontier}, ${end}`)
  }
  if (lane.sealed > end) broken('sealed ≤ end', `${lane.sealed}, ${end}`)
  if (segmentOf(lane, head) < trimmed) {
    broken("head's segment ≥ trimmed", `${segmentOf(lane, head)}, ${trimmed}`)
  }
  if (offloaded.from < offloaded.to) {
    if (offloaded.to * lane.segmentSize > lane.sealed) {
      broken('only sealed segments are offloaded', `up to ${offloaded.to}, sealed ${lane.sealed}`)
    }
    if (recalled > offloaded.to) broken('only offloaded segments are recalled', `${recalled}`)
  }
  checkApart(lane.holes, (why) => broken('holes are apart', why))
  checkApart(lane.dead, (why) => broken('dead ranges are apart', why), true)
  checkApart(lane.deliveries, (why) => broken('deliveries are apart', why), true)
  const first = lane.holes[0]
  if (first !== undefined && first.from <= head) broken('holes are above the head', `${first.from}`)
  const last = lane.holes.at(-1)
  if (last !== undefined && last.to > end) broken('holes are settled items', `${last.to}`)
  for (const { from, to } of lane.dead) {
    if (from < head || to > frontier) broken('the dead are unsettled', `${from}-${to}`)
  }
}

function checkApart(ranges: Ranges, broken: (why: string) => void, mayTouch = false): void {
  for (const [i, { from, to }] of ranges.entries()) {
    if (from >= to) broken(`empty range at ${from}`)
    const next = ranges[i + 1]
    if (next !== undefined && (mayTouch ? next.from < to : next.from <= to)) {
      broken(`${from}-${to} and ${next.from}-${next.to}`)
    }
  }
}

function checkLocks(record: QueueRecord, broken: Broken): void {
  const byLane = new Map<number, (Range & { lockId: string })[]>()
  let earliestMs = Number.POSITIVE_INFINITY
  for (const [lockId, lock] of record.locks) {
    if (!isDone(lock)) earliestMs = Math.min(earliestMs, lock.expiresAtMs)
    for (const stretch of lock.stretches) {
      const list = byLane.get(stretch.priority)
      if (list === undefined) byLane.set(stretch.priority, [{ ...stretch, lockId }])
      else list.push({ ...stretch, lockId })
      checkStretch(record, lockId, stretch, broken)
    }
  }
  for (const list of byLane.values()) {
    list.sort((a, b) => a.from - b.from)
    for (let i = 1; i < list.length; i += 1) {
      const [one, other] = [list[i - 1], list[i]] as [(typeof list)[0], (typeof list)[0]]
      if (one.to <= other.from) continue
      broken('an item is in at most one lock', `${record.queue}: ${one.lockId}, ${other.lockId}`)
    }
  }
  if (earliestMs === Number.POSITIVE_INFINITY) return
  if (record.checkAtMs === undefined || record.checkAtMs > earliestMs) {
    broken(
      'locks ≠ ∅ ⇒ checkAt ≤ their earliest expiry',
      `${record.queue}: checkAt ${record.checkAtMs}, earliest expiry ${earliestMs}`,
    )
  }
}

function checkStretch(
  record: QueueRecord,
  lockId: string,
  { priority, from, to }: Stretch,
  broken: Broken,
): void {
  const lane = record.lanes.get(priority)
  if (lane === undefined) {
    broken('a lock holds items of lanes', `${record.queue}: ${lockId} of lane ${priority}`)
  } else if (from >= to || to > lane.frontier) {
    broken('locked items are behind the frontier', `${record.queue}: ${lockId} ${from}-${to}`)
  } else if (from < lane.head || intersect([{ from, to }], lane.holes).length > 0) {
    broken('a lock holds nothing that is settled', `${record.queue}: ${lockId} ${from}-${to}`)
  }
}
