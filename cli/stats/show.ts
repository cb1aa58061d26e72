import type { LaneState } from '../../engine/queues.ts'
import type { State } from '../target/target.ts'
import { age, grouped } from '../terminal/amounts.ts'
import { type Column, tableLines } from '../terminal/table.ts'

const columns: readonly Column[] = [
  { title: 'QUEUE' },
  { title: 'PRIORITY', align: 'right' },
  { title: 'COUNT', align: 'right' },
  { title: 'LOCKED', align: 'right' },
  { title: 'DYING', align: 'right' },
  { title: 'OLDEST', align: 'right' },
  { title: 'SCHEDULED', align: 'right' },
  { title: 'NEXT', align: 'right' },
  { title: 'SEGMENTS', align: 'right' },
  { title: 'OFFLOADED', align: 'right' },
  { title: 'STORED' },
]

/** A queue in one line, and where it has several priorities one for each of them below. */
export function statsLines(
  states: readonly State[],
  nowMs: number,
  widthMax?: number,
): readonly string[] {
  const rows = states.flatMap((state) => queueRows(state, nowMs))
  return tableLines(columns, rows, widthMax)
}

function queueRows(state: State, nowMs: number): string[][] {
  const { queue, count, lockedCount, deadCount, scheduledCount, oldestPushedAtMs, lanes } = state
  const oldest = oldestPushedAtMs === undefined ? '' : age(nowMs - oldestPushedAtMs)
  const own = [
    ...[grouped(count), orNothing(lockedCount), orNothing(deadCount), oldest],
    ...[orNothing(scheduledCount), nextDue(state, nowMs)],
  ]
  // Lanes that are empty stay a while: an application's priorities come back.
  const filled = lanes.filter((lane) => lane.count > 0)
  const [only] = filled
  if (filled.length === 1 && only !== undefined) {
    return [[queue, String(only.priority), ...own, ...segmentCells(only)]]
  }
  return [[queue, '', ...own, '', '', ''], ...filled.map(laneRow)]
}

/** It shows a time that has passed, too: nobody has popped since, or the queue has no room. */
function nextDue({ nextDueMs }: State, nowMs: number): string {
  if (nextDueMs === undefined) return ''
  return nextDueMs > nowMs ? `in ${age(nextDueMs - nowMs)}` : `${age(nowMs - nextDueMs)} ago`
}

const laneRow = (lane: LaneState): string[] => [
  '',
  String(lane.priority),
  grouped(lane.count),
  ...['', '', '', '', ''],
  ...segmentCells(lane),
]

/** First to last; and how many numbers lie where. */
const segmentCells = (lane: LaneState): [string, string, string] => [
  span(lane.headSegment, lane.tailSegment),
  lane.headOffloadedSegment === undefined || lane.tailOffloadedSegment === undefined
    ? ''
    : span(lane.headOffloadedSegment, lane.tailOffloadedSegment),
  placesOf(lane),
]

/** The stretches leave out what the record does not know; this line names it. */
export function placesOf({
  stored,
  head,
  end,
}: Pick<LaneState, 'stored' | 'head' | 'end'>): string {
  const counts = new Map<string, number>()
  let unknown = end - head
  for (const { from, to, in: place } of stored) {
    counts.set(place, (counts.get(place) ?? 0) + to - from)
    unknown -= to - from
  }
  if (unknown > 0) counts.set('unknown', unknown)
  return [...counts].map(([place, count]) => `${place} ${grouped(count)}`).join(', ')
}

const span = (from: number, to: number): string =>
  from === to ? grouped(from) : `${grouped(from)}–${grouped(to)}`

const orNothing = (n: number): string => (n === 0 ? '' : grouped(n))
