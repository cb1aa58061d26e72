import { randomText } from '../../../foundation/random-text.ts'
import { type Append, appendOf } from '../../core/append.ts'
import {
  decodeItem,
  decodeReference,
  encodeItem,
  entryBytes,
  isReference,
  tagOf,
} from '../../core/entry.ts'
import type { Joining } from '../../core/join.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import { scheduledId } from '../../core/scheduled.ts'
import { BatchParts } from '../../store/batch-parts.ts'
import { partsIn, writeBatch } from '../../store/batches.ts'
import type { Engine } from '../attempts/engine.ts'
import { dropBatches } from '../lanes/entries.ts'

/** A reference adds about this much to the tail, so smaller runs of items need no batch. */
const REFERENCE_BYTES = 48
/** Lanes whose batches are written at a time, as for a push: a pop may wait for all of them. */
const LANES_AT_ONCE = 8

export type ToJoin = {
  readonly addition: Append
  /** References to batches that we wrote for this join, and that are in no record yet. */
  readonly written: readonly string[]
  /** References whose items are elsewhere after the join. */
  readonly spent: readonly string[]
}

/** The entries that the lanes get; undefined if a batch is gone. */
export async function entriesToJoin(
  engine: Engine,
  queue: string,
  joining: readonly Joining[],
): Promise<ToJoin | undefined> {
  const lanes = new Map<number, string[]>()
  const spent: string[] = []
  for (const one of joining) {
    const entries = await laneEntries(engine, queue, one)
    if (entries === undefined) return undefined
    if (one.indexes !== undefined && one.isLast) spent.push(one.entry)
    lanes.set(one.priority, [...(lanes.get(one.priority) ?? []), ...entries])
  }
  const written: string[] = []
  const isSmall =
    bytesOf([...lanes.values()].flat().filter((entry) => !isReference(entry))) <= INLINE_BYTES_MAX
  if (!isSmall) {
    const all = [...lanes]
    for (let at = 0; at < all.length; at += LANES_AT_ONCE) {
      const ends = await Promise.allSettled(
        all.slice(at, at + LANES_AT_ONCE).map(async ([priority, entries]) => {
          lanes.set(priority, await byReference(engine, queue, entries, written))
        }),
      )
      const failed = ends.find((end) => end.status === 'rejected')
      if (failed === undefined) continue
      await dropBatches(engine, queue, written)
      throw failed.reason
    }
  }
  return { addition: { ...appendOf(lanes), timed: true }, written, spent }
}

async function laneEntries(
  engine: Engine,
  queue: string,
  one: Joining,
): Promise<readonly string[] | undefined> {
  const { due, entry, indexes } = one
  if (!isReference(entry)) {
    const times = { dueMs: 1_000 * due, scheduledId: scheduledId(one) }
    return [encodeItem({ ...decodeItem(entry), ...times }, tagOf(entry))]
  }
  if (indexes === undefined) return [entry]
  return entriesAt(engine, queue, entry, indexes)
}

/** Some items of a batch. */
export async function entriesAt(
  engine: Engine,
  queue: string,
  entry: string,
  indexes: readonly number[],
): Promise<string[] | undefined> {
  const batches = new BatchParts(engine, engine.segments)
  const reference = decodeReference(entry)
  const wanted = new Set(indexes.map((index) => Math.floor(index / reference.partItems)))
  const parts = new Map<number, readonly string[]>()
  for (let part = 0; part < partsIn(reference); part += 1) {
    if (!wanted.has(part)) continue
    const read = await batches.read(queue, reference, part)
    if (read === undefined) return undefined
    parts.set(part, read)
  }
  return indexes.map((index) => {
    const part = parts.get(Math.floor(index / reference.partItems)) as readonly string[]
    return part[index % reference.partItems] as string
  })
}

/** Puts each run of items between references into its own batch, where that is smaller. */
async function byReference(
  engine: Engine,
  queue: string,
  entries: readonly string[],
  written: string[],
): Promise<string[]> {
  const result: string[] = []
  let run: string[] = []
  const end = async (): Promise<void> => {
    if (bytesOf(run) > REFERENCE_BYTES) {
      const reference = await writeBatch(engine, queue, randomText(engine.random, 8), run)
      written.push(reference)
      result.push(reference)
    } else result.push(...run)
    run = []
  }
  for (const entry of entries) {
    if (!isReference(entry)) {
      run.push(entry)
      continue
    }
    await end()
    result.push(entry)
  }
  await end()
  return result
}

const bytesOf = (entries: readonly string[]): number =>
  entries.reduce((sum, entry) => sum + entryBytes(entry), 0)
