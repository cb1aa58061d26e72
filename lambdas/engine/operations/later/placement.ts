import type { Row } from '../../../foundation/dynamo.ts'
import type { Expression } from '../../../foundation/expression.ts'
import { recordKey, scheduledSortKey } from '../../core/keys.ts'
import { TIMED_FORMAT } from '../../core/record.ts'
import { dueOf, encodeScheduled, scheduledBytes } from '../../core/scheduled.ts'
import type { Removal } from '../../core/take-scheduled.ts'
import { placesAlong } from '../../core/to-seal.ts'
import { partitionOf, storedRow } from '../../store/scheduled-rows.ts'
import { lowerTimer, takeUpdate } from '../../store/scheduled-updates.ts'
import type { Engine } from '../attempts/engine.ts'
import type { Placing } from './place-scheduled.ts'

// The write that puts items into new rows: what it does to the record of their queue.

export type Placement = {
  readonly rows: readonly Row[]
  readonly items: number
  /** Places in the target's list of entries that go along into the rows, and how many bytes the list loses. */
  readonly places: readonly number[]
  readonly bytes: number
  readonly seals: number
  /** When the first item is due. */
  readonly dueMs: number
  readonly nextDue: number
  readonly unseen: readonly string[]
  readonly beside: (update: Expression) => void
}

/** What the same write leaves in the target's list, if it takes items out of it, and when the timer must end for that. */
type Own = {
  readonly left?: readonly (string | undefined)[]
  readonly dueMs?: number | undefined
}

/** The new rows are like those of a seal: no other write can use their keys. */
export function placementOf(
  engine: Engine,
  { target, entries, ids, unseen }: Placing,
  { left = target.scheduled.entries, dueMs }: Own = {},
): Placement {
  const { scheduled } = target
  const seals = scheduled.seals + 1
  const seconds = Map.groupBy(entries, ({ due }) => due)
  const places = placesAlong(scheduled, left, new Set(seconds.keys()))
  const along = places.map((place) => left[place] as string)
  const rows = [...seconds].map(([due, some]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    entries: [...along.filter((entry) => dueOf(entry) === due), ...some.map(encodeScheduled)],
  }))
  const earliest = Math.min(...rows.map(({ due }) => due))
  return {
    rows: rows.map((row) => storedRow(partitionOf(target), row)),
    items: ids.length,
    places,
    bytes: along.reduce((sum, entry) => sum + scheduledBytes(entry), 0),
    seals,
    dueMs: 1_000 * earliest,
    nextDue: Math.min(earliest, scheduled.nextDue ?? earliest),
    unseen: [...unseen, ...rows.map(({ sk }) => sk)],
    beside(update) {
      update.set('tg', seals)
      const atMs = Math.min(1_000 * earliest, dueMs ?? Number.POSITIVE_INFINITY)
      lowerTimer(update, target, atMs, { nowMs: engine.clock.nowMs() })
    },
  }
}

/** The other queue's part of the write. It counts as an append, so that no process forgets the queue meanwhile. */
export function targetOf({ target }: Placing, placement: Placement) {
  const { items, places, bytes, nextDue, unseen, beside } = placement
  const taken = { places, items: -items, bytes, nextDue, unseen }
  return {
    Key: recordKey(target.queue),
    ...takeUpdate(target, taken, (update) => {
      beside(update)
      update.set('fm', TIMED_FORMAT)
      update.add('a', 1)
    }),
  }
}

/** What the record loses if the items stay in their queue. */
export const withAlong = (
  taken: Removal['taken'],
  { items, places, bytes, nextDue }: Placement,
) => ({
  places: [...taken.places, ...places],
  changed: new Map([...taken.changed].filter(([place]) => !places.includes(place))),
  items: taken.items - items,
  bytes: taken.bytes + bytes,
  nextDue,
})
