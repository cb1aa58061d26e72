import { randomText } from '../../../foundation/random-text.ts'
import { present } from '../../../foundation/shared/present.ts'
import { encodeItem } from '../../core/entry.ts'
import { expiresAtMsOf } from '../../core/item-expiry.ts'
import {
  type Later,
  type LaterSeed,
  laterIds,
  type PlannedEntry,
  planLater,
} from '../../core/later.ts'
import type { PushItem } from '../../core/push-request.ts'
import { encodeScheduled, scheduledBytes } from '../../core/scheduled.ts'
import { writeBatch } from '../../store/batches.ts'
import type { Engine } from '../attempts/engine.ts'

/** Batches written at a time, as for items that are not delayed. */
const BATCHES_AT_ONCE = 8

/** One of the pushes that an append brings. */
type LaterPush = {
  readonly items: readonly PushItem[]
  /** The hash of the key, or of the push if it has no key. */
  readonly keyHash: string
}

export type PreparedLater = {
  readonly later: Later | undefined
  /** For each push, the ids of its delayed items by their index. */
  readonly ids: readonly ReadonlyMap<number, string>[]
}

/** The scheduled entries of the delayed items among these. It writes batches first if the items are large. */
export async function prepareLater(
  engine: Engine,
  queue: string,
  pushes: readonly LaterPush[],
  seed: LaterSeed,
): Promise<PreparedLater> {
  const planned = pushes.map(({ items, keyHash }) => planLater(items, seed, keyHash))
  const ids = planned.map((entries) => laterIds(entries, seed.seals))
  const all = planned.flatMap((entries, push) =>
    entries.map((entry) => ({ entry, items: pushes[push]?.items ?? [], ids: ids[push] })),
  )
  if (all.length === 0) return { later: undefined, ids }
  const entries: string[] = []
  for (let at = 0; at < all.length; at += BATCHES_AT_ONCE) {
    const some = all.slice(at, at + BATCHES_AT_ONCE)
    const encoded = some.map(async (one) =>
      encodeScheduled({
        due: one.entry.due,
        seals: seed.seals,
        random: one.entry.random,
        priority: one.entry.priority,
        gone: [],
        entry: await laneEntry(engine, queue, one.entry, one, seed),
      }),
    )
    entries.push(...(await Promise.all(encoded)))
  }
  return {
    later: laterOf(
      entries,
      all.map(({ entry }) => entry),
      seed,
    ),
    ids,
  }
}

function laterOf(
  entries: readonly string[],
  planned: readonly PlannedEntry[],
  { seals }: LaterSeed,
): Later {
  let bytes = 0
  for (const entry of entries) bytes += scheduledBytes(entry)
  const items = planned.reduce((sum, entry) => sum + entry.items.length, 0)
  const dueMs = 1_000 * Math.min(...planned.map(({ due }) => due))
  return { entries, items, bytes, dueMs, seals }
}

async function laneEntry(
  engine: Engine,
  queue: string,
  { due, items: places, byReference }: PlannedEntry,
  of: {
    readonly items: readonly PushItem[]
    readonly ids: ReadonlyMap<number, string> | undefined
  },
  { pushedAtMs }: LaterSeed,
): Promise<string> {
  const encoded = places.map((place) => {
    const item = of.items[place] as PushItem
    const { text } = item
    const expiry = present({ expiresAtMs: expiresAtMsOf(item, pushedAtMs) })
    const tag = randomText(engine.random, 4)
    // A join does not rewrite a batch, so its items need their times now. Other items get theirs from the entry then.
    const times = byReference ? { dueMs: 1_000 * due, scheduledId: of.ids?.get(place) } : {}
    return encodeItem({ text, pushedAtMs, ...times, ...expiry }, tag)
  })
  if (!byReference) return encoded[0] as string
  return writeBatch(engine, queue, randomText(engine.random, 8), encoded)
}
