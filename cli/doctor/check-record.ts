import { roomOf } from '../../lambdas/engine/core/configuration.ts'
import { entryBytes } from '../../lambdas/engine/core/entry.ts'
import { hasFree } from '../../lambdas/engine/core/flags.ts'
import { countOf } from '../../lambdas/engine/core/ranges.ts'
import {
  endOf,
  inFlightOf,
  isDone,
  type Lane,
  type QueueRecord,
  segmentOf,
  unsettledIn,
} from '../../lambdas/engine/core/record.ts'
import type { Finding } from './finding.ts'

/** What must hold of a record by itself (docs/architecture.md, guarantee 5), and its counts. */
export function checkRecord(record: QueueRecord): Finding[] {
  const findings: Finding[] = []
  const say = (sentence: string) => findings.push({ kind: 'record', sentence })
  let tailBytes = 0
  let unsettled = 0
  for (const [priority, lane] of record.lanes) {
    for (const why of wrongIn(lane)) say(`priority ${priority}: ${why}`)
    for (const entry of lane.tail) tailBytes += entryBytes(entry)
    unsettled += countOf(unsettledIn(lane))
  }
  for (const why of wrongLocks(record)) say(why)
  if (record.dry && hasFree(record)) {
    say('it is marked as dry, and has something to pop: the next push makes no new event')
  }
  const counts = [
    { name: 'bytes of the tails', said: record.tailBytes, counted: tailBytes },
    { name: 'items in flight', said: record.inFlight, counted: inFlightOf(record) },
    {
      name: 'room',
      said: record.room + record.keptRoom,
      counted: roomOf(record.configuration) - unsettled,
    },
  ]
  for (const { name, said, counted } of counts) {
    if (said !== counted) say(`it counts ${said} ${name}, and a recount gives ${counted}`)
  }
  return findings
}

function* wrongIn(lane: Lane): Generator<string> {
  const { head, frontier, sealed, offloaded, recalled, trimmed, segmentSize } = lane
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
  for (const { from, to } of lane.holes) {
    if (from <= head || to > frontier) yield `the hole ${from}–${to} is not between the pointers`
  }
}

function* wrongLocks(record: QueueRecord): Generator<string> {
  const held = new Map<number, { from: number; to: number }[]>()
  let earliestMs = Number.POSITIVE_INFINITY
  for (const lock of record.locks.values()) {
    if (!isDone(lock)) earliestMs = Math.min(earliestMs, lock.expiresAtMs)
    for (const { priority, from, to } of lock.stretches) {
      const lane = record.lanes.get(priority)
      if (lane === undefined || to > lane.frontier) {
        yield `a lock holds items ${from}–${to} of priority ${priority}, which were never handed out`
      }
      held.set(priority, [...(held.get(priority) ?? []), { from, to }])
    }
  }
  for (const [priority, ranges] of held) {
    ranges.sort((a, b) => a.from - b.from)
    for (const [index, { to }] of ranges.entries()) {
      const next = ranges[index + 1]
      if (next !== undefined && next.from < to)
        yield `two locks hold item ${next.from} of ${priority}`
    }
  }
  const isTimed = record.checkAtMs !== undefined && record.checkAtMs <= earliestMs
  if (Number.isFinite(earliestMs) && !isTimed) {
    yield 'a lock ends before the sweeper is to look at the queue'
  }
}
