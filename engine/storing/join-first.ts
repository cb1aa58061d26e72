// What a pop does about due items before it chooses: they join their lanes, as if they had been pushed in time. Those
// that the queue has no room for wait, and if a join is held up, the pop goes on with what is in the lanes. But if
// they are empty it tries again for a while, and does not say that there is nothing.

import { QueueError } from '../../shared/errors.ts'
import { lacksRoom, mayJoin } from '../core/plan-join.ts'
import { hasFree, type QueueRecord } from '../core/record.ts'
import {
  act,
  again,
  asStored,
  type Decision,
  look,
  lost,
  type Outcome,
  refuse,
  type View,
} from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { join } from './join-due.ts'

export type Joining = {
  /** What the pop has to do before it chooses. */
  readonly before: (view: View) => Decision<never> | undefined
  /** What it has to do before it may answer that there is nothing, by this record. */
  readonly beforeEmpty: (record: QueueRecord, nowMs: number) => Decision<never> | undefined
  /** As much has joined as one pop lets, and more would. */
  readonly leavesMore: (record: QueueRecord, nowMs: number) => boolean
}

/** Writes of one pop, some hundred items each. Items still left after that were due later than those. */
const JOINS_MAX = 10
/** So long a pop that has nothing else to deliver tries to get at items that are due. */
const INSISTS_FOR_MS = 3_000

/** A record from memory will do: joining is a conditional write. */
export function startJoining(engine: Engine): Joining {
  let joins = 0
  let isHeldUp = false
  let error: QueueError | undefined
  let insistsUntilMs: number | undefined

  async function tryToJoin(
    record: QueueRecord,
    isCurrent: boolean,
    nowMs: number,
  ): Promise<Outcome<never>> {
    try {
      const joined = await join(engine, { record, isCurrent }, nowMs, { isBrief: true })
      isHeldUp = joined.kind === 'lost'
      return isHeldUp ? lost(joined) : again(joined)
    } catch (thrown) {
      if (!(thrown instanceof QueueError)) throw thrown
      engine.onBackgroundError(thrown, { queue: record.queue, step: 'join' })
      isHeldUp = true
      error = thrown.outcome === 'unknown' ? undefined : thrown
      return lost(asStored(await engine.records.read(record.queue)))
    }
  }

  return {
    before({ record, isCurrent, nowMs }) {
      if (record === undefined || isHeldUp || joins === JOINS_MAX) return undefined
      // Acknowledgements are blind and move no timer, so only a look tells that they have made room meanwhile.
      if (!isCurrent && lacksRoom(record, nowMs)) return look
      if (!mayJoin(record, nowMs)) return undefined
      joins += 1
      return {
        kind: 'act',
        isExtra: true,
        act: async () => asAgain(await tryToJoin(record, isCurrent, nowMs)),
      }
    },
    beforeEmpty(record, nowMs) {
      if (!mayJoin(record, nowMs)) return undefined
      insistsUntilMs ??= nowMs + INSISTS_FOR_MS
      if (nowMs > insistsUntilMs) return refuse(error ?? QueueError.busy(record.queue))
      return act(() => tryToJoin(record, true, nowMs))
    },
    leavesMore: (record, nowMs) => joins === JOINS_MAX && !isHeldUp && mayJoin(record, nowMs),
  }
}

/** The pop goes on at once with what is in the lanes. */
const asAgain = (outcome: Outcome<never>): Outcome<never> =>
  outcome.kind === 'lost' ? again(outcome) : outcome

/** Whether another pop could get something: what is free, or what is due and would join before it. */
export const isMoreThere = (engine: Engine, record: QueueRecord): boolean =>
  hasFree(record) || mayJoin(record, engine.clock.nowMs())
