import { idsOf } from '../../core/item-ids.ts'
import type { Pushed } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { discardUnlessOpen, prepare } from '../lanes/entries.ts'
import { append } from '../pushing/append.ts'
import { schedule } from './read-schedule.ts'

/** Pushes the schedule's item now, once, paused or not; its times stay as they are. */
export async function runSchedule(engine: Engine, queue: string, name: string): Promise<Pushed> {
  const { text, priority } = await schedule(engine, queue, name)
  const items = [{ text, priority }]
  const { addition } = await prepare(engine, queue, items)
  // The push limit is for callers' own pushes.
  const limit = { verb: 'push', pass: 'free', receivedMs: undefined } as const
  const placed = await append(engine, queue, addition, { ...limit }).catch(async (error) => {
    await discardUnlessOpen(engine, queue, addition, error)
    throw error
  })
  return { ids: idsOf(items, placed) }
}
