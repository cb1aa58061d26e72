import { defaultConfiguration } from './configuration.ts'
import { bringsSomethingBack, hasFree, isNotable } from './flags.ts'
import { housekeepingDue } from './housekeeping.ts'
import { isSomethingJoinable, scheduledCheckAtMs, stopsWaiting } from './joinable.ts'
import { keepingRoom } from './kept-room.ts'
import { FORGET_AFTER_MS, HOUSEKEEPING_RETRY_MS, MARKS_KEPT } from './limits.ts'
import { doneLocks, earliestExpiryMs } from './locks.ts'
import { withNumbers, withoutExpired } from './notes.ts'
import { endOf, inFlightOf, type Lane, MARK_CHARACTERS, type QueueRecord } from './record.ts'
import { dueMs, isReminded, isTakenSince, lacksTimer, waitsForSomebody } from './reminder.ts'
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
  /** No claim and no extension since: for a write that depends on the frontiers and locks being as seen. */
  readonly claims?: boolean | undefined
  /** No append since: in place of the lanes ahead, when they are too many to name. */
  readonly appends?: boolean | undefined
  /** Nobody has scheduled an item since, nor taken one out: for a write that puts the timer off. */
  readonly scheduled?: boolean | undefined
  /** The same, unless nothing is due by this time: for a pop, which may have seen the record before that. */
  readonly scheduledByMs?: number | undefined
  /** No lane was made since: it could be one ahead. */
  readonly lanesMade?: boolean | undefined
  /** Lanes ahead, whose tails must be as seen. */
  readonly lanesAhead?: readonly number[] | undefined
  /** No lock has expired by this time, even if somebody has since extended one to end sooner. */
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
  /** The write makes something free that was not, so the flag `dry` goes. */
  readonly bringsBack: boolean
  /** Lanes whose whole tail is sealed; the new tail holds only the entries that the write brings. */
  readonly begun?: ReadonlySet<number> | undefined
}

export type FenceOptions = {
  readonly nowMs: number
  readonly mark: string
  readonly guards?: Guards
  readonly begun?: ReadonlySet<number> | undefined
  /** Sets `checkAt` anew, even to a later time; needs that no claim came in between. */
  readonly refreshCheckAt?: boolean
  /** A join has just found that nothing due can get its lane. */
  readonly isStuck?: boolean
  /** Due items cannot use the room that is kept for them. */
  readonly givesRoomBack?: boolean
  /** Sets `dry` if nothing is left to pop; needs that no append came in between. */
  readonly setsDry?: boolean
  /** After this long, we announce items again that nobody takes; absent without events. */
  readonly remindAfterMs?: number | undefined
  /** When the first item that it schedules is due. */
  readonly scheduledMs?: number | undefined
}

/** Completes a decision into a fenced write: adds what every such write does. */
export function fenced(
  before: QueueRecord,
  draft: QueueRecord,
  options: FenceOptions,
): FencedChange {
  const { nowMs, mark, begun, refreshCheckAt = false, setsDry = false, remindAfterMs } = options
  const { isStuck = false, givesRoomBack = false } = options
  const waits = !givesRoomBack && isSomethingJoinable(draft, nowMs, isStuck)
  const roomy = keepingRoom(before, draft, waits)
  const pruned = withNumbers(before, withoutExpired(pruneTails(before, roomy), nowMs))
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
  const checkAtMs = nextCheckAt(counted, nowMs, refreshCheckAt, {
    ...options,
    // Wake must come for what can join now, because perhaps no pop does: a patient timer may stand for it.
    joinsNow: stopsWaiting(before, counted, nowMs),
  })
  const near = checkAtMs === before.checkAtMs ? before.near : isNear(checkAtMs, nowMs)
  const after = { ...counted, checkAtMs, near }
  // An append in between would have found the timer set, and would rely on it.
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
 * write of 80 lanes and 40 locks leaves. A later write prunes the rest.
 */
const PRUNE_EXPRESSION_BYTES = 2_400
const PRUNE_ENTRY_BYTES = 14
/** For each note: the write may have to replace its place in the tail by a number. */
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
    // One update cannot both remove entries from a list and append to it.
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
 * `checkAt` is a lazy timer: any write lowers it if something ends earlier, but only a write that
 * happens anyway and asks for it raises it, so that locking a busy queue writes no index.
 */
function nextCheckAt(
  record: QueueRecord,
  nowMs: number,
  refresh: boolean,
  {
    remindAfterMs,
    isStuck = false,
    scheduledMs,
    joinsNow,
  }: FenceOptions & { readonly joinsNow: boolean },
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
    refresh || joinsNow ? scheduledCheckAtMs(record, nowMs, isStuck && !joinsNow) : undefined,
    // One write folds a limited number: the timer stays due until nothing is left to fold.
    refresh && doneLocks(record) > 0 ? nowMs : undefined,
    ...patient.map((time) => (time === undefined ? undefined : patiently(time))),
  ])
}

/**
 * A record with free items always has a timer; appends see to that, because perhaps no other call comes. Only the
 * sweeper cares how soon it ends, so any timer that is not far away will do. The sweeper puts one off for up to an hour
 * while no consumer comes; and a retry's may be a day away, during which the sweeper goes on looking.
 */
function remindAt(
  record: QueueRecord,
  nowMs: number,
  refresh: boolean,
  afterMs: number | undefined,
): number | undefined {
  if (afterMs === undefined) return undefined
  if (!refresh) {
    return lacksTimer(record, nowMs) || isTakenSince(record) ? nowMs + afterMs : undefined
  }
  if (!waitsForSomebody(record)) return hasRetry(record) ? nowMs + afterMs : undefined
  return record.reminder === undefined ? nowMs + afterMs : dueMs(record.reminder, afterMs)
}

/**
 * When an empty record can go: ten minutes after its last lock ended, or after now, so that a repeated
 * acknowledgement still gets its answer; and not while SQS may deliver again an inbox message that was applied.
 */
export const forgettableAtMs = (record: QueueRecord, nowMs = 0): number =>
  Math.max(Math.max(nowMs, record.lastEndedMs) + FORGET_AFTER_MS, neededUntilMs(record))

/** The record is empty and has no settings: it can go once nobody asks about its ended locks any more. */
export function isForgettable(record: QueueRecord): boolean {
  if (record.configuration.revision !== defaultConfiguration.revision) return false
  if (record.locks.size > 0 || record.scheduled.items > 0) return false
  // Only this record knows of the rows that its purges left.
  if (record.scheduled.purged.length > 0) return false
  for (const lane of record.lanes.values()) if (lane.head < endOf(lane)) return false
  return true
}

/** The queue is empty, and no caller will ask about its past any more. */
export const isQuiet = (record: QueueRecord, nowMs: number): boolean =>
  isForgettable(record) && nowMs >= forgettableAtMs(record)
