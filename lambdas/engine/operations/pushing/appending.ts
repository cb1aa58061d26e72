import { type Append, isNew, type Placed, placedAt, startsAfterAppend } from '../../core/append.ts'
import { findNoted } from '../../core/find-append.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { Known, View } from '../attempts/decision.ts'
import type { Engine } from '../attempts/engine.ts'

// One append on its way: what it brings, by which record its pushes are new, and where it landed.

/** What one append brings, and to which queue. */
export type Appending = {
  readonly engine: Engine
  readonly queue: string
  readonly addition: Append
  /** For an append with keys or a sequence: the record according to which they are new. */
  readonly newBy?: QueueRecord
  /** The record that this process remembered before the call. */
  readonly remembered: QueueRecord | undefined
  lostAnswers: number
  /** Waits for a full tail so far. */
  waits: number
}

/** What became of an append with keys or a sequence. */
export type Appended =
  | { readonly kind: 'placed'; readonly placed: Placed }
  /** By this record, part of it may not be new any more. It did not happen, unless in doubt, and it never will. */
  | { readonly kind: 'look'; readonly record: QueueRecord | undefined; readonly inDoubt: boolean }

/** What the record says about an append with keys or a sequence; undefined if they are new. Receipts tell the rest. */
export function knownOf(
  { addition, newBy }: Appending,
  { record, inDoubt }: View,
): Appended | undefined {
  if (newBy === undefined) return undefined
  if (record !== undefined && inDoubt) {
    const placed = findNoted(addition, record)
    if (placed?.size === addition.lanes.size) return { kind: 'placed', placed }
  }
  return record !== undefined && isNew(addition, newBy, record)
    ? undefined
    : { kind: 'look', record, inDoubt }
}

/** The record by which its keys are new. */
export const knownBy = ({ remembered }: Appending, newBy: QueueRecord): Known => ({
  record: newBy,
  isCurrent: newBy !== remembered,
})

export const isStillNew = ({ addition, newBy }: Appending, record: QueueRecord): boolean =>
  newBy === undefined || isNew(addition, newBy, record)

export function placedIn(addition: Append, record: QueueRecord): Appended {
  return { kind: 'placed', placed: placedAt(record, startsAfterAppend(addition, record)) }
}
