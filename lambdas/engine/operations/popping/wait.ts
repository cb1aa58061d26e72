import { QueueError } from '../../../foundation/errors.ts'
import { recordKey } from '../../core/keys.ts'
import type { PopCommand } from '../../core/pop.ts'
import { checkPop, type PopRequest } from '../../core/pop-request.ts'
import { decodeRecord, type StoredRecord } from '../../core/stored-record.ts'
import { hasSomethingFor, lookPauseMs } from '../../core/wait.ts'
import type { PopOutcome } from '../../verbs.ts'
import { areRowsBlocked, changedAllTheSame, type Engine } from '../attempts/engine.ts'
import type { LimitedCall } from '../attempts/pass-limit.ts'
import { commandFor, pop, popLimited } from './pop.ts'
import { afterAcknowledging, turnedAway } from './popped.ts'
import { leaveSeat, takeSeat } from './seats.ts'

/**
 * A pop that may wait until there is something to pop. It sends the same pop again when a look shows something,
 * and once more at the end. So its answer is true at that moment, and its limit counts it once.
 */
export async function popOrWait(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
): Promise<PopOutcome> {
  const { waitSeconds } = request
  const startMs = engine.clock.nowMs()
  const limit = popLimited(request)
  const first = await pop(engine, queue, request, limit)
  if (waitSeconds === undefined || first.kind === 'items') return first
  // The lock that the caller named is not acknowledged yet: its items could come back while this call waits.
  if (first.kind === 'locked' && request.acknowledge !== undefined) return first
  const untilMs = startMs + waitSeconds * 1_000
  const seat = await takeSeat(engine, queue, untilMs)
  if (seat === undefined) return { ...first, waitedMs: 0 }
  const acknowledged = first.kind === 'empty' ? first.itemsAcknowledged : undefined
  const sinceMs = engine.clock.nowMs()
  try {
    const { acknowledge: _, ...again } = request
    const waiting = waitFor(engine, queue, again, limit, untilMs)
    const last = await (acknowledged === undefined
      ? waiting
      : waitAfterAcknowledging(waiting, acknowledged))
    // At least 1, however short the wait was: 0 says that it did not wait.
    return { ...last, waitedMs: Math.max(1, engine.clock.nowMs() - sinceMs) }
  } finally {
    await leaveSeat(engine, queue, seat)
  }
}

async function waitAfterAcknowledging(
  waiting: Promise<PopOutcome>,
  itemsAcknowledged: number,
): Promise<PopOutcome> {
  try {
    return afterAcknowledging(await waiting, itemsAcknowledged)
  } catch (error) {
    if (isTurnedAway(error)) return turnedAway(itemsAcknowledged)
    throw changedAllTheSame(error)
  }
}

/** The queue refuses pops for the moment. If the store fails instead, we cannot tell whether there was an item. */
const isTurnedAway = (error: unknown): boolean =>
  error instanceof QueueError &&
  error.outcome !== 'unknown' &&
  (error.code === 'RATE_LIMITED' || error.code === 'BUSY')

async function waitFor(
  engine: Engine,
  queue: string,
  request: PopRequest,
  limit: LimitedCall,
  untilMs: number,
): Promise<PopOutcome> {
  const { clock, random } = engine
  const { signal, waitSeconds = 0, receivedMs } = request
  let pausesMs = 0
  // Keep the key, if the call has one: an earlier request of the same call may have got the items.
  const command = commandFor(engine, queue, request, checkPop(request))
  for (let looks = 0; ; looks += 1) {
    const pauseMs = lookPauseMs(looks, untilMs - clock.nowMs(), random())
    await clock.sleep(pauseMs, signal)
    pausesMs += pauseMs
    // A clock that was set back must not hold up its caller.
    const hasWaited = clock.nowMs() >= untilMs || pausesMs > 1_000 * waitSeconds
    const isOver = signal?.aborted || hasWaited
    if (!isOver && !(await looksFree(engine, queue, command))) continue
    // The queue may have got a limit meanwhile. It compares our clock with this time: our pauses are no difference.
    if (receivedMs !== undefined) limit.receivedMs = receivedMs + pausesMs
    const outcome = await pop(engine, queue, request, limit)
    if (isOver || outcome.kind === 'items') return outcome
  }
}

/** A failed look does not matter: another one follows, and the pop at the end reports what is wrong. */
async function looksFree(engine: Engine, queue: string, command: PopCommand): Promise<boolean> {
  try {
    // We do not remember this record: it may be older than the one this engine knows.
    const row = await engine.dynamo.get(recordKey(queue), false)
    const record = row && decodeRecord(row as StoredRecord)
    if (record === undefined) return false
    return hasSomethingFor(record, command, engine.clock.nowMs(), areRowsBlocked(engine, record))
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    return false
  }
}
