import type { ItemTimes } from '../../core/entry.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { firstConfiguration } from '../attempts/patterns.ts'

/**
 * Where items expire some time after they were pushed, what comes back from the dead letters is as new: by its old
 * time it would be over at once. Another engine may have set that a moment ago, and then it would be lost for good,
 * so what this one remembers will not do. The move remembers what is read here.
 */
export async function timesOfRedriven(engine: Engine, to: string): Promise<ItemTimes> {
  const record = await readRecord(engine, to)
  const { itemTtlSeconds } = record?.configuration ?? (await firstConfiguration(engine, to))
  return itemTtlSeconds === undefined ? {} : { redrivenMs: engine.clock.nowMs() }
}
