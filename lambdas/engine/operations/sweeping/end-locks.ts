import { isFormatUnknown } from '../../../foundation/errors.ts'
import { type Engine, seen } from '../attempts/engine.ts'
import { type DueQueue, dueQueues, type Found, type Timer } from './due-queues.ts'
import { sideBySide } from './side-by-side.ts'
import { comesDue, type Left, sweepQueue } from './sweep-queue.ts'
import { failed, late, passOver, type Report } from './sweep-report.ts'
import { sweepSchedules } from './sweep-schedules.ts'

/**
 * Mostly, a visit is one write that waits for the store: at 5 ms an answer, 32 visits keep a core busy
 * and end the locks of 20,000 queues in some ten seconds.
 */
const VISITS_AT_ONCE = 32
/** How many queues one run notes for later. The timers of the others stay due, so a later run meets them again. */
const LEFT_MAX = 10_000

export type LeftOver = { readonly queue: string; readonly left: 'housekeeping' | 'forgetting' }

export const nothingYet = (): Report => ({
  queues: 0,
  itemsReturned: 0,
  itemsDeadLettered: 0,
  occurrencesPushed: 0,
  lagMs: 0,
  failed: [],
  more: false,
})

type Bounds = {
  readonly deadlineMs: number
  readonly queuesMax: number
  readonly shards: readonly number[]
  /** Chooses which due timers to visit. Default: all. */
  readonly isWanted?: ((due: Timer) => boolean) | undefined
}

type Ended = {
  readonly left: readonly LeftOver[]
  readonly patternsAreDue: boolean
}

/** No visit waits for another, and none sends a request once the time is up, so we then end soon. */
export async function endLocks(
  engine: Engine,
  report: Report,
  { deadlineMs, queuesMax, shards, isWanted }: Bounds,
): Promise<Ended> {
  const left: LeftOver[] = []
  const bounded = { ...engine, dynamo: engine.dynamo.until(deadlineMs) }
  const mayGoOn = (): boolean => report.queues < queuesMax && engine.clock.nowMs() < deadlineMs
  let isCut = false
  let patternsAreDue = false
  const endLocksOf = async (due: Found): Promise<void> => {
    if (due.kind === 'patterns') {
      patternsAreDue = true
      return
    }
    if (due.kind === 'next') {
      comesDue(report, due.atMs)
      return
    }
    if (due.kind === 'schedules') return sweepSchedules(bounded, due, report, deadlineMs)
    if (due.kind !== 'queue') {
      isCut ||= due.kind === 'cut'
      passOver(engine, due, report)
      return
    }
    if (!mayGoOn()) {
      isCut = true
      late(engine, due.dueMs, report)
      return
    }
    report.queues += 1
    const over = await visit(bounded, due, report, deadlineMs)
    if (over === 'nothing') return
    if (over === 'locks') late(engine, due.dueMs, report)
    else if (left.length < LEFT_MAX) left.push({ queue: due.queue, left: over })
    else report.more = true
  }
  const due = dueQueues(bounded, shards, mayGoOn, isWanted)
  await sideBySide(due, VISITS_AT_ONCE, endLocksOf, () => !isCut)
  return { left, patternsAreDue }
}

async function visit(
  engine: Engine,
  { queue, dueMs, row }: DueQueue,
  report: Report,
  deadlineMs: number,
): Promise<Left> {
  try {
    const record = seen(engine, queue, row)
    return record === undefined ? 'nothing' : await sweepQueue(engine, record, report, deadlineMs)
  } catch (error) {
    failed(engine, queue, error, report)
    // A record that this engine cannot read would be late for ever, and hide the lag of all others.
    if (!isFormatUnknown(error)) late(engine, dueMs, report)
    return 'nothing'
  }
}
