import { QueueError } from '../../../foundation/errors.ts'
import { hasFree } from '../../core/flags.ts'
import { doneLocks } from '../../core/locks.ts'
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
  let stuck: Stuck | undefined
  let joins = 0
  return ({ record, isCurrent, nowMs }) => {
    const { itemsAcknowledged } = passing
    if (record === undefined || joins === JOINS_MAX) return undefined
    if (stuck?.itemsAcknowledged === itemsAcknowledged && isStill(record, stuck)) return undefined
    if (!mayJoin(engine, record, nowMs)) return undefined
    joins += 1
    return {
      kind: 'act',
      isExtra: true,
      async act() {
        try {
          const joined = await join(engine, { record, isCurrent }, nowMs, { isBrief: true })
          const { kind } = joined
          if (kind === 'stuck') stuck = { itemsAcknowledged, version: joined.record?.version }
          if (kind === 'lost') stuck = { itemsAcknowledged }
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

/** The call's last join was in vain. */
type Stuck = Pick<Passing, 'itemsAcknowledged'> & {
  /** Of the record that had no room or lane; absent if other writes came first too often, or the store refused. */
  readonly version?: number | undefined
}

/** Another call may have made room or a lane since: by a write under the fence, or by acknowledging. */
const isStill = (record: QueueRecord, stuck: Stuck | undefined): boolean =>
  stuck !== undefined &&
  (stuck.version === undefined || (stuck.version === record.version && doneLocks(record) === 0))

/** Whether another pop could get something: what is free, or what is due and would join before it. */
export const isMoreThere = (engine: Engine, record: QueueRecord): boolean =>
  hasFree(record) || mayJoin(engine, record, engine.clock.nowMs())
