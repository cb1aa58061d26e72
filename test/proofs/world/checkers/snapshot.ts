import type { Item } from '../../../../engine/core/item.ts'
import {
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
  union,
} from '../../../../engine/core/ranges.ts'
import {
  endOf,
  isDone,
  type Lane,
  type QueueRecord,
  stretchesIn,
} from '../../../../engine/core/record.ts'
import { isRetry } from '../../../../engine/core/settling.ts'
import { decodeRecord, type StoredRecord } from '../../../../engine/core/stored-record.ts'
import type { Item as StoredItem } from '../../../../testing/simulated/dynamodb/values.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { getOrMake } from '../harness/get-or-make.ts'
import type { ItemRecord } from './ledger.ts'
import type { Model, QueueModel } from './model.ts'

/** One write to a queue record. */
export type Commit = {
  readonly model: Model
  readonly queue: string
  readonly queueModel: QueueModel
  /** Whose request it is. */
  readonly operation: Operation | undefined
  /** Its call, if that is about this queue. */
  readonly command: Command | undefined
  readonly before: Snapshot | undefined
  readonly after: Snapshot | undefined
}

/** One whose record is there after it. */
export type Put = Commit & { readonly after: Snapshot }

/** One whose record was there before it too. */
export type Write = Put & { readonly before: Snapshot }

/** A queue record at one moment: as stored, decoded, and its lanes as the model sees them. */
export class Snapshot {
  readonly stored: StoredRecord
  readonly record: QueueRecord
  readonly #views = new Map<number, LaneView>()

  constructor(item: StoredItem) {
    this.stored = item as unknown as StoredRecord
    this.record = decodeRecord(this.stored)
  }

  view(priority: number): LaneView | undefined {
    const lane = this.record.lanes.get(priority)
    return lane && getOrMake(this.#views, priority, () => viewLane(this.record, priority, lane))
  }

  /** Items that a pop could take if it ended no lock. */
  hasFree(): boolean {
    const priorities = [...this.record.lanes.keys()]
    return priorities.some((priority) => (this.view(priority)?.free.length ?? 0) > 0)
  }
}

type LaneView = Readonly<ReturnType<typeof viewLane>>

/** A lane as the plain model sees it: what is settled, locked by whom, dead, and free. */
function viewLane(record: QueueRecord, priority: number, lane: Lane) {
  const end = endOf(lane)
  const behind: Range[] = [{ from: 0, to: lane.head }, ...lane.holes]
  const live: [string, Ranges][] = []
  for (const [lockId, lock] of record.locks) {
    const numbers = stretchesIn(lock.stretches, priority)
    if (isDone(lock)) behind.push(...numbers)
    else if (numbers.length > 0) live.push([lockId, numbers])
  }
  /** Behind the head, in holes, or in a lock that was acknowledged and not folded yet. */
  const settled = normalised(behind)
  /** Unsettled numbers of each lock that is not done. */
  const locked = new Map<string, Ranges>()
  let lockedByAny: Ranges = none
  for (const [lockId, numbers] of live) {
    const unsettled = subtract(numbers, settled)
    add(locked, lockId, unsettled)
    lockedByAny = union(lockedByAny, unsettled)
  }
  const dead = subtract(normalised(lane.dead), settled)
  const unsettled = subtract(end > 0 ? [{ from: 0, to: end }] : none, settled)
  const free = subtract(subtract(unsettled, lockedByAny), dead)
  /** Locks in which items wait for their retry. */
  const retries = new Set([...record.locks].flatMap(([id, lock]) => (isRetry(lock) ? [id] : [])))
  return { lane, end, settled, locked, retries, lockedByAny, dead, free }
}

export const showRanges = (ranges: Ranges): string =>
  ranges.map(({ from, to }) => `[${from},${to})`).join(' ') || 'none'

/** What one write did to the items of a lane, by where they were and where they went. */
export type LaneChange = Readonly<ReturnType<typeof changeOfLane>>

/** `after` is absent where the lane was dropped. */
export function changeOfLane(priority: number, before: LaneView, after: LaneView | undefined) {
  const all: Ranges = before.end > 0 ? [{ from: 0, to: before.end }] : none
  const settledAfter = after?.settled ?? all
  const deadAfter = after?.dead ?? none
  const lockedAfter = after?.locked ?? new Map<string, Ranges>()

  const settled = subtract(settledAfter, before.settled)
  const settledLocked = new Map<string, Ranges>()
  const givenBack = new Map<string, Ranges>()
  const buried = new Map<string, Ranges>()
  for (const [lockId, numbers] of before.locked) {
    add(settledLocked, lockId, intersect(numbers, settled))
    const left = subtract(subtract(numbers, settledAfter), lockedAfter.get(lockId) ?? none)
    add(buried, lockId, intersect(left, deadAfter))
    add(givenBack, lockId, subtract(left, deadAfter))
  }
  const handed = new Map<string, Ranges>()
  const delayed = new Map<string, Ranges>()
  for (const [lockId, numbers] of lockedAfter) {
    const gained = subtract(numbers, before.locked.get(lockId) ?? none)
    add(after?.retries.has(lockId) ? delayed : handed, lockId, gained)
  }
  const deadNew = subtract(deadAfter, before.dead)
  return {
    priority,
    before,
    after,
    settledFree: subtract(subtract(settled, before.lockedByAny), before.dead),
    settledDead: intersect(settled, before.dead),
    settledLocked,
    handed,
    delayed,
    /** Out of a lock, and visible again, handed out anew, or waiting for a retry. */
    givenBack,
    buried,
    // What must never happen: settled and back, dead and back, dead without a lock.
    unsettled: subtract(before.settled, settledAfter),
    undead: subtract(subtract(before.dead, deadAfter), settledAfter),
    deadUnlocked: subtract(deadNew, before.lockedByAny),
  }
}

function add(map: Map<string, Ranges>, lockId: string, numbers: Ranges): void {
  if (numbers.length > 0) map.set(lockId, numbers)
}

/** What the plain model knows of a lane: each sequence number's item, fixed for ever. */
export type LaneLog = {
  readonly queue: string
  readonly epoch: string
  readonly priority: number
  readonly places: Place[]
}

/** A lane as it is stored, and what the model knows of it. */
export type Kept = { readonly model: Model; readonly log: LaneLog; readonly lane: Lane }

export type Place = {
  readonly log: LaneLog
  readonly sequence: number
  /** The entry as it was appended, or as its batch holds it. */
  readonly entry: string
  readonly item: Item
  readonly record: ItemRecord
  readonly sinceMs: number
  handouts: number
}

export const laneKey = (queue: string, epoch: string, priority: number): string =>
  `${queue}/${epoch}/${priority}`
