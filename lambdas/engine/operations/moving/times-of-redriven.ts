import type { ItemTimes } from '../../core/entry.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { firstConfiguration } from '../attempts/patterns.ts'

/**
 * If a queue's items expire some time after their push, an item that comes back from the dead letters counts as
 * new: by its old time it would expire at once. Another engine may have changed that setting a moment ago, and then
 * the item would be lost for good, so we must not go by memory. The move remembers the record that we read here.
 */
export async function timesOfRedriven(engine: Engine, to: string): Promise<ItemTimes> {
  const record = await readRecord(engine, to)
  const { itemTtlSeconds } = record?.configuration ?? (await firstConfiguration(engine, to))
  return itemTtlSeconds === undefined ? {} : { redrivenMs: engine.clock.nowMs() }
}
