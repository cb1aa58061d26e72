import type { Append, Placed } from '../../core/append.ts'
import type { Receipt } from '../../core/receipt.ts'
import { endOf, type Lane, type QueueRecord } from '../../core/record.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'

type Search = NonNullable<Receipt['search']>[number]

/** Items that others appended between the look and the landing: a storm brings hundreds. */
const ITEMS_MAX = 5_000
const ITEMS_PER_READ = 500
const ATTEMPTS_MAX = 4

/** What a receipt needs to find its items later: where they can be at the earliest, and the first. */
export function searchesOf(
  addition: Append,
  heads: ReadonlyMap<number, string>,
  record: QueueRecord,
  newLanes: ReadonlyMap<number, Lane>,
): Search[] {
  return [...addition.lanes.keys()].map((priority) => {
    const lane = record.lanes.get(priority)
    const epoch = (lane ?? newLanes.get(priority))?.epoch ?? ''
    return [priority, epoch, lane === undefined ? 0 : endOf(lane), heads.get(priority) ?? '']
  })
}

/** Looks through the lanes from where each search says; `undefined` when it is not there any more. */
export async function locate(
  engine: Engine,
  queue: string,
  searches: readonly Search[],
): Promise<Placed | undefined> {
  const placed = new Map<number, { epoch: string; start: number }>()
  for (const [priority, epoch, from, wanted] of searches) {
    const start = await locateInLane(engine, queue, priority, epoch, from, wanted)
    if (start === undefined) return undefined
    placed.set(priority, { epoch, start })
  }
  return placed
}

async function locateInLane(
  engine: Engine,
  queue: string,
  priority: number,
  epoch: string,
  from: number,
  wanted: string,
): Promise<number | undefined> {
  let next = from
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await readRecord(engine, queue)
    const lane = record?.lanes.get(priority)
    if (record === undefined || lane === undefined || lane.epoch !== epoch) return undefined
    next = Math.max(next, lane.head)
    const end = Math.min(endOf(lane), from + ITEMS_MAX)
    while (next < end) {
      const stretch = { priority, from: next, to: Math.min(end, next + ITEMS_PER_READ) }
      const read = await engine.items.read(record, [stretch])
      // Moved meanwhile: the record is read again.
      if (read.kind === 'missing') break
      const at = read.entries.findIndex((entry) => entry.startsWith(wanted))
      if (at !== -1) return next + at
      next = stretch.to
    }
    if (next >= end) return undefined
  }
  return undefined
}
