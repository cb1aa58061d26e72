import { QueueError } from '../../../foundation/errors.ts'
import type { QueueRecord } from '../../core/record.ts'
import { commit } from '../attempts/commit.ts'
import { asStored } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { type Joined, join } from './join.ts'

export type Used = {
  readonly record: QueueRecord | undefined
  /** Due items could join, but others came first: the room stays theirs. */
  readonly isLost: boolean
}

/**
 * For a call that finds no room in a queue that keeps some: lets due items join. If none can, however much room there
 * is, or if nobody can read them now, a write gives the room back, or the queue would refuse all calls for as long.
 */
export async function useKeptRoom(engine: Engine, record: QueueRecord): Promise<Used> {
  const { kind, record: left, items } = await tryToJoin(engine, record)
  const isLost = kind === 'lost'
  if (left === undefined || left.keptRoom === 0 || items > 0 || isLost) {
    return { record: left, isLost }
  }
  const nowMs = engine.clock.nowMs()
  const committed = await commit(
    engine,
    changeOf(engine, left, left, { nowMs, givesRoomBack: true }),
  )
  const after = committed.kind === 'committed' ? committed.record : committed.current
  return { record: after, isLost: false }
}

/** The call waits for this, and there are others that can join them. An error is no reason to refuse the call. */
async function tryToJoin(engine: Engine, record: QueueRecord): Promise<Omit<Joined, 'isCurrent'>> {
  try {
    return await join(engine, asStored(record), engine.clock.nowMs(), { isBrief: true })
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
    return { kind: 'stuck', record: await readRecord(engine, record.queue), items: 0 }
  }
}
