import { QueueError } from '../../../foundation/errors.ts'
import type { QueueRecord } from '../../core/record.ts'
import { again, type Decision } from '../attempts/decision.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { join, mayJoin } from '../later/join.ts'

/** Writes of one pop, some hundred items each. Items still left after that were due later than those. */
const JOINS_MAX = 10

/**
 * Items that are due by the pop's clock join their lanes before the pop chooses. Those that the queue has no room
 * for wait, and the pop goes on. A record from memory will do: joining is a conditional write.
 */
export function joiningBefore(
  engine: Engine,
): (record: QueueRecord, nowMs: number) => Decision<never> | undefined {
  let isStuck = false
  let joins = 0
  return (record, nowMs) => {
    if (isStuck || joins === JOINS_MAX || !mayJoin(engine, record, nowMs)) return undefined
    joins += 1
    return {
      kind: 'act',
      isExtra: true,
      async act() {
        try {
          const joined = await join(engine, record, nowMs, { isBrief: true })
          isStuck = joined.kind !== 'joined'
          return again(joined.record)
        } catch (error) {
          // Whatever the outcome, the pop delivers the items that are in the lanes.
          if (!(error instanceof QueueError)) throw error
          engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
          isStuck = true
          return again(await readRecord(engine, record.queue))
        }
      },
    }
  }
}
