import { checkQueueId } from '../../foundation/queue-id.ts'
import { purgeStep } from '../core/purge.ts'
import { checkPriority } from '../core/push-request.ts'
import {
  busy,
  changedAllTheSame,
  changeOf,
  commit,
  type Engine,
  pause,
  readRecord,
} from './engine.ts'
import { hold } from './hold.ts'
import { leaveDryQuietly } from './leave-dry.ts'

/** 2,000 locks at 40 a step and 1,000 lanes at 80 a step, and room for as many lost races. */
const ATTEMPTS_MAX = 120
const STARVING_AFTER = 3

export async function purge(
  engine: Engine,
  queue: string,
  { priority }: { readonly priority?: number } = {},
): Promise<{ itemsPurged: number }> {
  checkQueueId(queue)
  if (priority !== undefined) checkPriority(priority, 'priority')
  const done = { itemsPurged: 0 }
  return purgeSteps(engine, queue, priority, done).catch((error: unknown) => {
    throw done.itemsPurged > 0 ? changedAllTheSame(error) : error
  })
}

async function purgeSteps(
  engine: Engine,
  queue: string,
  priority: number | undefined,
  done: { itemsPurged: number },
): Promise<{ itemsPurged: number }> {
  let losses = 0
  let record = await readRecord(engine, queue)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined) return done
    const nowMs = engine.clock.nowMs()
    const { draft, items, finished } = purgeStep(record, priority, nowMs)
    if (draft === record) return done
    // A claim that it has not seen would keep a lock on items that are gone.
    const guards = { claims: true }
    const committed = await commit(
      engine,
      changeOf(engine, record, draft, {
        nowMs,
        guards,
        marksDry: engine.events && losses === 0,
      }),
    )
    if (committed.kind === 'committed') {
      done.itemsPurged += items
      if (finished) {
        await leaveDryQuietly(engine, committed.record)
        return done
      }
      record = committed.record
      losses = 0
      continue
    }
    record = committed.kind === 'lost' ? committed.current : undefined
    losses += 1
    await pause(engine, losses)
    if (losses >= STARVING_AFTER && record !== undefined) record = await hold(engine, record)
  }
  throw busy(queue)
}
