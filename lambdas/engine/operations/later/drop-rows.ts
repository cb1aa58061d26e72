import type { Engine } from '../attempts/engine.ts'
import { discardBatch } from '../lanes/entries.ts'

export async function dropBatches(
  engine: Engine,
  queue: string,
  references: readonly string[],
): Promise<void> {
  for (const entry of references) await discardBatch(engine, queue, entry)
}
