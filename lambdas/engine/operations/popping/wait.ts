import { QueueError } from '../../../foundation/errors.ts'
import { recordKey } from '../../core/keys.ts'
import type { PopCommand } from '../../core/pop.ts'
import type { PopRequest } from '../../core/pop-request.ts'
import { decodeRecord, type StoredRecord } from '../../core/stored-record.ts'
import { hasSomethingFor, lookPauseMs } from '../../core/wait.ts'
import type { PopOutcome } from '../../verbs.ts'
import { changedAllTheSame, type Engine } from '../attempts/engine.ts'
import { pop } from './pop.ts'
import { leaveSeat, takeSeat } from './seats.ts'

/**
 * A pop that may wait until there is something to pop. It is the same pop, sent again when a look shows
 * something, and once more at the end: so what it answers is true then, and its limit counts it once.
 */
export async function popOrWait(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
): Promise<PopOutcome> {
  const { waitSeconds } = request
  const startMs = engine.clock.nowMs()
  const first = await pop(engine, queue, request)
  if (waitSeconds === undefined || first.kind === 'items') return first
  // The lock that it names is not acknowledged: its items would come again while this call waits.
  if (first.kind === 'locked' && request.acknowledge !== undefined) return first
  const untilMs = startMs + waitSeconds * 1_000
  const seat = await takeSeat(engine, untilMs)
  if (seat === undefined) return first.kind === 'empty' ? { ...first, waited: false } : first
  const acknowledged = first.kind === 'empty' ? first.itemsAcknowledged : undefined
  try {
    const { acknowledge: _, ...again } = request
    const last = await waitFor(engine, queue, again, untilMs)
    if (acknowledged === undefined || last.kind === 'locked') return last
    return { ...last, itemsAcknowledged: acknowledged }
  } catch (error) {
    throw acknowledged === undefined ? error : changedAllTheSame(error)
  } finally {
    await leaveSeat(engine, queue, seat)
  }
}

async function waitFor(
  engine: Engine,
  queue: string,
  request: PopRequest,
  untilMs: number,
): Promise<PopOutcome> {
  const { clock, random } = engine
  const { signal, count = 1, competing = false } = request
  const command: PopCommand = { count, competing, lock: undefined }
  for (let looks = 0; ; looks += 1) {
    await clock.sleep(lookPauseMs(looks, untilMs - clock.nowMs(), random()), signal)
    const isOver = signal?.aborted || clock.nowMs() >= untilMs
    if (!isOver && !(await looksFree(engine, queue, command))) continue
    const outcome = await pop(engine, queue, request, true)
    if (isOver || outcome.kind === 'items') return outcome
  }
}

/** A look that fails is not the end: there is another, and the pop at the end tells what is wrong. */
async function looksFree(engine: Engine, queue: string, command: PopCommand): Promise<boolean> {
  try {
    // Not remembered: it may be older than what this engine knows.
    const row = await engine.dynamo.get(recordKey(queue), false)
    const record = row && decodeRecord(row as StoredRecord)
    return hasSomethingFor(record, command, engine.clock.nowMs())
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    return false
  }
}
