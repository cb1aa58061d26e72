import { QueueError } from '../../../foundation/errors.ts'
import { hasFree } from '../../core/flags.ts'
import type { QueueRecord } from '../../core/record.ts'
import { again, asStored, type Decision, type View } from '../attempts/decision.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { join, mayJoin } from '../later/join.ts'
import type { Passing } from './pass-over.ts'

/** Writes of one pop, some hundred items each. Items still left after that were due later than those. */
const JOINS_MAX = 10

/**
 * Items that are due by the pop's clock join their lanes before the pop chooses. Those that the queue has no room
 * for wait, and the pop goes on; what it acknowledges meanwhile may make room for them. A record from memory will do:
 * joining is a conditional write.
 */
export function joiningBefore(
  engine: Engine,
  passing: Passing,
): (view: View) => Decision<never> | undefined {
  let stuck: Pick<Passing, 'itemsAcknowledged'> | undefined
  let joins = 0
  return ({ record, isCurrent, nowMs }) => {
    const { itemsAcknowledged } = passing
    const isStuck = stuck !== undefined && stuck.itemsAcknowledged === itemsAcknowledged
    if (record === undefined || isStuck || joins === JOINS_MAX) return undefined
    if (!mayJoin(engine, record, nowMs)) return undefined
    joins += 1
    return {
      kind: 'act',
      isExtra: true,
      async act() {
        try {
          const joined = await join(engine, { record, isCurrent }, nowMs, { isBrief: true })
          if (joined.kind !== 'joined') stuck = { itemsAcknowledged }
          return again(joined)
        } catch (error) {
          // Whatever the outcome, the pop delivers the items that are in the lanes.
          if (!(error instanceof QueueError)) throw error
          engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
          stuck = { itemsAcknowledged }
          return again(asStored(await readRecord(engine, record.queue)))
        }
      },
    }
  }
}

/** Whether another pop could get something: what is free, or what is due and would join before it. */
export const isMoreThere = (engine: Engine, record: QueueRecord): boolean =>
  hasFree(record) || mayJoin(engine, record, engine.clock.nowMs())
