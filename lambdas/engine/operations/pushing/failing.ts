import { QueueError } from '../../../foundation/errors.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import type { PushOutcome } from './calls.ts'
import { type Call, isSameAs, itemsNow, pending } from './calls.ts'
import { answerKnown } from './first-answers.ts'

/** The push is too large for the queue; a smaller one may still fit. */
export const isTooMuch = (error: unknown): boolean =>
  error instanceof QueueError &&
  error.outcome !== 'unknown' &&
  (error.code === 'QUEUE_FULL' || error.code === 'TOO_MANY_PRIORITIES')

/**
 * Fails pushes whose times are not valid now, unless they are repetitions: those get their answers, however late they
 * come. We make nothing for them, and only a strong read can say that a key is new (rule 7).
 */
export async function failUntimely(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
): Promise<void> {
  const untimely = pending(calls).filter((call) => call.untimely !== undefined)
  if (untimely.length === 0) return
  try {
    await answerKnown(engine, queue, untimely, await readRecord(engine, queue))
    for (const call of untimely) call.outcome ??= { kind: 'failed', error: call.untimely }
  } catch (error) {
    for (const call of untimely) call.outcome ??= { kind: 'failed', error }
  }
}

/** Fails these pushes, and those behind them that would fail as well. */
export async function fail(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  failed: readonly Call[],
  error: unknown,
): Promise<void> {
  const isLikeOne = (call: Call) => failed.some((one) => isSameAs(call, one))
  const same = pending(calls).filter(isLikeOne)
  for (const call of [...failed, ...same]) call.outcome = { kind: 'failed', error }
  if (!(error instanceof QueueError)) return
  if (isTooMuch(error)) {
    if (error.code === 'QUEUE_FULL') await failAlike(engine, queue, calls, failed, error)
    return
  }
  // The error belongs to no single push: the store is out of reach, say, and each group would run into that again.
  const behind: PushOutcome = { kind: 'failed', error: unsent(error) }
  for (const call of pending(calls)) call.outcome = behind
}

/** The pushes behind one with an unknown outcome have not been sent. */
const unsent = (error: QueueError): QueueError =>
  error.outcome === 'unknown'
    ? new QueueError(error.code, 'The store is busy or out of reach; try again in a moment', {
        cause: error,
      })
    : error

/**
 * If there is no room for this push, there is none for others that need as much, unless a key shows that they are in.
 * Those that need none are never alike: items for later take up room only once they are due.
 */
async function failAlike(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  [first]: readonly Call[],
  error: QueueError,
): Promise<void> {
  const nowMs = engine.clock.nowMs()
  const itemsMin = Math.max(1, first === undefined ? 0 : itemsNow(first, nowMs))
  const alike = () => pending(calls).filter((call) => itemsNow(call, nowMs) >= itemsMin)
  try {
    if (alike().some(({ keyHash }) => keyHash !== undefined)) {
      // Not from memory: the answer to an older read may have come since (rule 7).
      await answerKnown(engine, queue, alike(), await readRecord(engine, queue))
    }
  } catch (cause) {
    for (const call of pending(calls)) call.outcome = { kind: 'failed', error: cause }
  }
  for (const call of alike()) call.outcome = { kind: 'failed', error }
}
