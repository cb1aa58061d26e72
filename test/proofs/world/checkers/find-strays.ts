import { decodeReference, isReference } from '../../../../lambdas/engine/core/entry.ts'
import {
  batchObjectKey,
  segmentObjectKey,
  segmentPartition,
} from '../../../../lambdas/engine/core/keys.ts'
import { segmentOf } from '../../../../lambdas/engine/core/record.ts'
import type { Model } from './model.ts'

/**
 * Rows and objects that no record leads to. A lane may keep those of the segment that its head is
 * in, and of later ones; with the lane they go too.
 */
export function findStrays(model: Model): string[] {
  const { rows, world } = model
  const known = new Set<string>()
  for (const { queue, current } of model.queues()) {
    const know = (entry: string): void => {
      const { batch } = decodeReference(entry)
      known.add(`b#${queue}#${batch}`).add(batchObjectKey(queue, batch))
    }
    if (current !== undefined && current.record.scheduled.purged.length > 0) {
      for (const pk of rows.partitions()) if (pk.startsWith(`t#${queue}#`)) known.add(pk)
    }
    for (const [priority, lane] of current?.record.lanes ?? []) {
      for (const entry of lane.tail) if (isReference(entry)) know(entry)
      const last = segmentOf(lane, lane.sealed)
      for (let segment = segmentOf(lane, lane.head); segment <= last; segment += 1) {
        const pk = segmentPartition(queue, lane.epoch, priority, segment)
        known.add(pk).add(segmentObjectKey(queue, lane.epoch, priority, segment))
        for (const row of rows.partition(pk)?.values() ?? []) {
          const { reference } = rows.chunk(row)
          if (reference !== undefined) know(reference.entry)
        }
      }
    }
  }
  const strays: string[] = []
  for (const pk of rows.partitions()) {
    if (!/^[sbt]#/.test(pk) || known.has(pk)) continue
    if (isOfTransaction(model, pk)) continue
    for (const sk of rows.partition(pk)?.keys() ?? []) strays.push(`${pk}/${sk}`)
  }
  for (const key of world.store.objects.keys()) {
    if (!known.has(key) && !isOfTransaction(model, key)) strays.push(`s3:${key}`)
  }
  return strays
}

/** The caller's transaction never came: this is documented, and the engine cannot know. */
function isOfTransaction({ batchWriters }: Model, place: string): boolean {
  const { verb } = batchWriters.get(place)?.command ?? {}
  return verb === 'pushTransactItem' || verb === 'transact'
}
