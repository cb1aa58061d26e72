import { defaultConfiguration } from './configuration.ts'
import { bringsSomethingBack, hasFree, isNotable } from './flags.ts'
import { housekeepingDue } from './housekeeping.ts'
import { scheduledCheckAtMs } from './joinable.ts'
import { FORGET_AFTER_MS, HOUSEKEEPING_RETRY_MS, MARKS_KEPT } from './limits.ts'
import { doneLocks, earliestExpiryMs } from './locks.ts'
import { withNumbers, withoutExpired } from './notes.ts'
import { endOf, inFlightOf, type Lane, MARK_CHARACTERS, type QueueRecord } from './record.ts'
import { dueMs, isReminded, isTakenSince, waitsForSomebody } from './reminder.ts'
import { hasRetry } from './retry.ts'
import { neededUntilMs } from './sequence.ts'
import { pruneTail } from './settling.ts'
import { earliestOf, isNear, patiently } from './timers.ts'

/**
 * What a fenced write says beyond "version and birth are as seen". The builder adds by itself what
 * follows from the change: the expiry of each lock it ends or alters, the frontier it sets, the
 * tail's size where it drops a lane, `checkAt` where it sets it.
 */
export type Guards = {
  /** No claim, no extension since: where frontier and locks matter that it has not seen. */
  readonly claims?: boolean | undefined
  /** No append since: in place of the lanes ahead, when they are too many to name. */
  readonly appends?: boolean | undefined
  /** Nothing was scheduled since, and no scheduled item taken out: for a write that puts the timer off. */
  readonly scheduled?: boolean | undefined
  /** The same, unless nothing is due by this time: for a pop that goes by memory. */
  readonly scheduledByMs?: number | undefined
  /** No lane was made since: it could be one ahead. */
  readonly lanesMade?: boolean | undefined
  /** Lanes ahead, whose tails must be as seen. */
  readonly lanesAhead?: readonly number[] | undefined
  /** No lock has expired by this time, were it extended to end sooner since. */
  readonly checkAtAfterMs?: number | undefined
  /** Items in flight may not be more than this before the write. */
  readonly inFlightMax?: number | undefined
  /** Room must be left for so many items. */
  readonly roomMin?: number | undefined
  /** The tails may not be larger than this before the write, which appends to one. */
  readonly tailBytesMax?: number | undefined
}

export type FencedChange = {
  readonly before: QueueRecord
  readonly after: QueueRecord
  readonly guards: Guards
  readonly mark: string
  /** Something is free after it that was not: the flag `dry` goes. */
  readonly bringsBack: boolean
  /** Lanes whose tails are sealed as a whole and begin anew with entries that the write brings. */
  readonly begun?: ReadonlySet<number> | undefined
}

export type FenceOptions = {
  readonly nowMs: number
  readonly mark: string
  readonly guards?: Guards
  readonly begun?: ReadonlySet<number> | undefined
  /** Set `checkAt` anew, later too; needs that no claim came between. */
  readonly refreshCheckAt?: boolean
  /** A join has lately found that nothing of what is due can have its lane. */
  readonly isStuck?: boolean
  /** Set `dry` if nothing is left to pop; needs that no append came between. */
  readonly setsDry?: boolean
  /** Items that nobody takes are announced again after this long; absent where nothing is announced. */
  readonly remindAfterMs?: number | undefined
  /** When the first of what it schedules is due. */
  readonly scheduledMs?: number | undefined
}

/** Completes a decision to a fenced write: what every such write does alike. */
export function fenced(
  before: QueueRecord,
  draft: QueueRecord,
  options: FenceOptions,
): FencedChange {
  const { nowMs, mark, begun, refreshCheckAt = false, setsDry = false, remindAfterMs } = options
  const pruned = withNumbers(before, withoutExpired(pruneTails(before, draft), nowMs))
  const isAppended = pruned.appends > before.appends
  const bringsBack = isAppended || bringsSomethingBack(before, pruned)
  const becomesDry = setsDry && !before.dry && !hasFree(pruned)
  const counted = {
    ...pruned,
    dry: becomesDry || (before.dry && !bringsBack),
    notable: isNotable(before, pruned, bringsBack && !isAppended) || isReminded(before, pruned),
    inFlight: before.inFlight + inFlightOf(pruned) - inFlightOf(before),
    work: housekeepingDue(pruned),
    version: before.version + 1,
    marks: (before.marks + mark).slice(-MARKS_KEPT * MARK_CHARACTERS),
    holdUntilMs: 0,
  }
  const checkAtMs = nextCheckAt(counted, nowMs, refreshCheckAt, options)
  const near = checkAtMs === before.checkAtMs ? before.near : isNear(checkAtMs, nowMs)
  const after = { ...counted, checkAtMs, near }
  // An append that came between found the timer set, and relies on it.
  const dropsTimer = remindAfterMs !== undefined && after.checkAtMs === undefined
  return {
    before,
    after,
    guards: {
      ...options.guards,
      claims: refreshCheckAt || options.guards?.claims,
      scheduled: refreshCheckAt && after.checkAtMs !== before.checkAtMs,
      appends:
        becomesDry || (dropsTimer && before.checkAtMs !== undefined) || options.guards?.appends,
    },
    mark,
    bringsBack,
    begun,
  }
}

/**
 * Bytes of update expression (DynamoDB allows 4,096) that removing tail entries may use: what a
 * write of 80 lanes and 40 locks leaves. What is not pruned now goes with a later write.
 */
const PRUNE_EXPRESSION_BYTES = 2_400
const PRUNE_ENTRY_BYTES = 14
/** Of each note, whose place in the tail may turn into a number. */
const NOTE_BYTES = 8

function pruneTails(before: QueueRecord, draft: QueueRecord): QueueRecord {
  let lanes: Map<number, Lane> | undefined
  let tailBytes = draft.tailBytes
  let left = PRUNE_EXPRESSION_BYTES - NOTE_BYTES * draft.notes.size
  for (const [priority, lane] of draft.lanes) {
    if (lane !== before.lanes.get(priority)) left -= 2 * PRUNE_ENTRY_BYTES
  }
  for (const [priority, lane] of draft.lanes) {
    const was = before.lanes.get(priority)
    // One update cannot take entries from a list and append to it.
    if (lane === was || lane.tail.length > (was?.tail.length ?? 0)) continue
    const entriesMax = Math.floor(left / PRUNE_ENTRY_BYTES) - 1
    if (entriesMax <= 0) break
    const pruned = pruneTail(lane, entriesMax)
    if (pruned.lane === lane) continue
    left -= (lane.tail.length - pruned.lane.tail.length + 1) * PRUNE_ENTRY_BYTES
    lanes ??= new Map(draft.lanes)
    lanes.set(priority, pruned.lane)
    tailBytes -= pruned.bytes
  }
  return lanes === undefined ? draft : { ...draft, lanes, tailBytes }
}

/**
 * `checkAt` is a lazy timer: lowered whenever something ends earlier, raised only by a write that
 * was going to happen anyway and asked for it, so that locking a busy queue writes no index.
 */
function nextCheckAt(
  record: QueueRecord,
  nowMs: number,
  refresh: boolean,
  { remindAfterMs, isStuck = false, scheduledMs }: FenceOptions,
): number | undefined {
  const patient = [
    refresh && (record.work || record.scheduled.purged.length > 0)
      ? nowMs + HOUSEKEEPING_RETRY_MS
      : undefined,
    remindAt(record, nowMs, refresh, remindAfterMs),
    isForgettable(record) ? forgettableAtMs(record, nowMs) : undefined,
  ]
  return earliestOf([
    refresh ? undefined : record.checkAtMs,
    earliestExpiryMs(record),
    scheduledMs,
    refresh ? scheduledCheckAtMs(record, nowMs, isStuck) : undefined,
    // One write folds only so many: the timer stays due until nothing is left to fold.
    refresh && doneLocks(record) > 0 ? nowMs : undefined,
    ...patient.map((time) => (time === undefined ? undefined : patiently(time))),
  ])
}

/**
 * A record with free items always has a timer; appends see to that, because nobody else may come. How soon it ends
 * matters only to the sweeper, so any timer will do that is not far away. Two may be: one that the sweeper has put
 * off for up to an hour because no consumer came, until one comes; and that of a retry, a day at most, during which
 * the sweeper goes on looking.
 */
function remindAt(
  record: QueueRecord,
  nowMs: number,
  refresh: boolean,
  afterMs: number | undefined,
): number | undefined {
  if (afterMs === undefined) return undefined
  if (!refresh) {
    const isMissing = record.checkAtMs === undefined && hasFree(record)
    return isMissing || isTakenSince(record) ? nowMs + afterMs : undefined
  }
  if (!waitsForSomebody(record)) return hasRetry(record) ? nowMs + afterMs : undefined
  return record.reminder === undefined ? nowMs + afterMs : dueMs(record.reminder, afterMs)
}

/**
 * When an empty record can go: ten minutes after its last lock ended, or after now, so that a repeated
 * acknowledgement has its answer; and not while a message of the inbox that was applied may come again.
 */
export const forgettableAtMs = (record: QueueRecord, nowMs = 0): number =>
  Math.max(Math.max(nowMs, record.lastEndedMs) + FORGET_AFTER_MS, neededUntilMs(record))

/** Nothing in it, nothing set: the record can go once its ended locks are old news. */
export function isForgettable(record: QueueRecord): boolean {
  if (record.configuration.revision !== defaultConfiguration.revision) return false
  if (record.locks.size > 0 || record.scheduled.items > 0) return false
  // Nobody else would know of their rows.
  if (record.scheduled.purged.length > 0) return false
  for (const lane of record.lanes.values()) if (lane.head < endOf(lane)) return false
  return true
}
