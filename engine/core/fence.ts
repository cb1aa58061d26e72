// What every fenced write adds to a decision. Such a write passes only on the version that it has seen, and says what
// else must be as seen, because appends, claims, acknowledgements and extensions come beside the fence (`Guards`). It
// counts and prunes; it sets the timer, by which somebody comes for the queue if no call does; and it sets the flags
// `dry` and `notable`, which say which writes to make events of, because the stream's filter cannot compare a record
// with its earlier state.

import { housekeepingDue } from './housekeeping.ts'
import { isSomethingDue } from './later.ts'
import {
  EXPIRED_DEAD_MAX,
  FORGET_AFTER_MS,
  HOUSEKEEPING_RETRY_MS,
  IN_FLIGHT_MAX,
  MARKS_KEPT,
} from './limits.ts'
import { doneLocks, earliestExpiryMs } from './locks.ts'
import { keepingRoom, scheduledCheckAtMs, stopsWaiting } from './plan-join.ts'
import { subtract } from './ranges.ts'
import {
  deadIn,
  earliestOf,
  endOf,
  freeIn,
  hasFree,
  inFlightOf,
  isDone,
  isNear,
  type Lane,
  type Lock,
  MARK_CHARACTERS,
  patiently,
  type QueueRecord,
  type Reminder,
  roomIn,
  type Stretch,
  stretchesOf,
  unsettledPart,
} from './record.ts'
import { neededUntilMs, withNumbers, withoutExpired } from './repeated-pushes.ts'
import { defaultConfiguration } from './settings.ts'
import { goesToRetry, hasRetry, isRetry, isWorkedOn, pruneTail, settle } from './settling.ts'

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
}

export type FenceOptions = {
  readonly nowMs: number
  readonly mark: string
  readonly guards?: Guards
  /** Sets `checkAt` anew, even to a later time; needs that no claim came in between. */
  readonly refreshCheckAt?: boolean
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
  const { nowMs, mark, refreshCheckAt = false, setsDry = false, remindAfterMs } = options
  const waits = options.givesRoomBack !== true && isSomethingDue(draft.scheduled, nowMs)
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
  }
}

/**
 * Bytes of update expression (DynamoDB allows 4,096) that removing tail entries may use: what a
 * write of 80 lanes and 40 locks leaves. A later write prunes the rest.
 */
const PRUNE_EXPRESSION_BYTES = 2_400
const PRUNE_ENTRY_BYTES = 14
/** For each note: the write may have to replace its place in the tail by a number. */
const PRUNE_NOTE_BYTES = 8

function pruneTails(before: QueueRecord, draft: QueueRecord): QueueRecord {
  let lanes: Map<number, Lane> | undefined
  let tailBytes = draft.tailBytes
  let left = PRUNE_EXPRESSION_BYTES - PRUNE_NOTE_BYTES * draft.notes.size
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

// What a write sets the timer to: the earliest time at which somebody has something to do here.

/**
 * `checkAt` is a lazy timer: any write lowers it if something ends earlier, but only a write that
 * happens anyway and asks for it raises it, so that locking a busy queue writes no index.
 */
function nextCheckAt(
  record: QueueRecord,
  nowMs: number,
  refresh: boolean,
  options: FenceOptions & { readonly joinsNow: boolean },
): number | undefined {
  const { remindAfterMs, scheduledMs, joinsNow } = options
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
    refresh || joinsNow ? scheduledCheckAtMs(record, nowMs) : undefined,
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
const forgettableAtMs = (record: QueueRecord, nowMs = 0): number =>
  Math.max(Math.max(nowMs, record.lastEndedMs) + FORGET_AFTER_MS, neededUntilMs(record))

/** The record is empty and has neither settings nor a gate: it can go once nobody asks about its ended locks any more. */
export function isForgettable(record: QueueRecord): boolean {
  if (record.configuration.revision !== defaultConfiguration.revision) return false
  if (record.locks.size > 0 || record.scheduled.items > 0) return false
  if (record.gateUntilMs !== undefined) return false
  // Only this record knows of the rows that its purges left.
  if (record.scheduled.purged.length > 0) return false
  for (const lane of record.lanes.values()) if (lane.head < endOf(lane)) return false
  return true
}

/** The queue is empty, and no caller will ask about its past any more. */
export const isQuiet = (record: QueueRecord, nowMs: number): boolean =>
  isForgettable(record) && nowMs >= forgettableAtMs(record)

// What `notable` follows from: items came back or died, a lock ended unacknowledged, or pops are refused no longer.

/** Whether items have become free: only the end of a lock, or of a part of it, can do that. */
function bringsSomethingBack(before: QueueRecord, after: QueueRecord): boolean {
  const touched = new Set<number>()
  for (const [lockId, lock] of before.locks) {
    if (isDone(lock) || after.locks.get(lockId) === lock) continue
    for (const { priority } of lock.stretches) touched.add(priority)
  }
  for (const priority of touched) {
    const [was, is] = [before.lanes.get(priority), after.lanes.get(priority)]
    if (was === undefined || is === undefined) continue
    const back = subtract(freeIn(after, is), freeIn(before, was))
    if (back.length > 0) return true
  }
  return false
}

function isNotable(before: QueueRecord, after: QueueRecord, bringsBack: boolean): boolean {
  if (bringsBack || deadIn(after) > deadIn(before)) return true
  if (letsExpireAgain(before, after) || mayLetLockAgain(before, after)) return true
  return [...before.locks].some(
    ([id, lock]) => !isDone(lock) && endsUnacknowledged(id, lock, after),
  )
}

/** Too many items were dead for pops to pass over more expired ones, so we refused them. Now they can again. */
export const letsExpireAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  after.configuration.expired === 'dead_letter' &&
  deadIn(before) >= EXPIRED_DEAD_MAX &&
  deadIn(after) < EXPIRED_DEAD_MAX

/**
 * Nothing could be locked any more, so consumers were refused and went home. Now something can, and not because a
 * holder has settled items of its lock: the holder is at work and pops again.
 */
export const letsLockAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  roomIn(before) === 0 && roomIn(after) > 0 && roomIn(asSettledByHolders(before, after)) === 0

/**
 * Claims go beside the fence, so at the time of the write more may be in flight than its writer has seen. From half of
 * what may be on, it marks whatever frees some; Announce, which sees both images, says whether that lets others lock.
 */
const mayLetLockAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  roomIn(before) <= IN_FLIGHT_MAX / 2 && roomIn(after) > roomIn(asSettledByHolders(before, after))

/** The record before the write, but without the items of consumers' locks that the write has settled. */
function asSettledByHolders(before: QueueRecord, after: QueueRecord): QueueRecord {
  const locks = new Map(before.locks)
  const settled: Stretch[] = []
  for (const [lockId, lock] of before.locks) {
    if (isRetry(lock)) continue
    const stretches: Stretch[] = []
    for (const { priority, ...range } of lock.stretches) {
      const left = unsettledPart(after, priority, [range])
      stretches.push(...stretchesOf(priority, left))
      settled.push(...stretchesOf(priority, subtract([range], left)))
    }
    locks.set(lockId, { ...lock, stretches })
  }
  return settle({ ...before, locks }, settled)
}

/**
 * A lock that was live or expired is gone. Nobody acknowledged it, and no retry lock took its place that makes the
 * other items go on waiting.
 */
export const endsUnacknowledged = (
  lockId: string,
  lock: Lock,
  after: QueueRecord,
  isWorkedOn = false,
): boolean =>
  !after.locks.has(lockId) &&
  after.ended.findLast((ended) => ended.lockId === lockId)?.ending !== 'acknowledged' &&
  !goesToRetry(lock, after, isWorkedOn)

// Events report changes, and a change can go unheard: somebody deployed the consumer or turned on events
// later, the call was lost, or a stranger's lock was in the way. So when the sweeper comes to a queue with
// free items and no live lock, it notes how much has been taken so far. If nobody has taken any more by the
// end of the interval, it announces the queue again.

/** A queue whose consumer is gone for good costs one announcement an hour instead of one every five minutes. */
const INTERVAL_MS_MAX = 60 * 60_000

/** The record as the sweeper leaves it. `afterMs` is the first interval; each later one is twice as long. */
export function remind(record: QueueRecord, nowMs: number, afterMs: number): QueueRecord {
  const reminder = nextReminder(record, nowMs, afterMs)
  return reminder === record.reminder ? record : { ...record, reminder }
}

function nextReminder(record: QueueRecord, nowMs: number, afterMs: number): Reminder | undefined {
  if (!waitsForSomebody(record)) return undefined
  const { reminder } = record
  const taken = takenIn(record.lanes)
  if (reminder === undefined || reminder.taken !== taken) return { times: 0, taken, sinceMs: nowMs }
  if (nowMs < dueMs(reminder, afterMs)) return reminder
  return { times: reminder.times + 1, taken, sinceMs: nowMs }
}

/** Announces the queue at once, no matter when the last announcement was. */
export const announced = (record: QueueRecord, nowMs: number): QueueRecord => ({
  ...record,
  reminder: { times: 1, taken: takenIn(record.lanes), sinceMs: nowMs },
})

/** When the sweeper has to look at the queue again for this. */
export const dueMs = ({ times, sinceMs }: Reminder, afterMs: number): number =>
  sinceMs + Math.min(INTERVAL_MS_MAX, afterMs * 2 ** times)

/** Whether this write announces the queue again. */
export const isReminded = (before: QueueRecord, after: QueueRecord): boolean =>
  (after.reminder?.times ?? 0) > 0 && after.reminder?.sinceMs !== before.reminder?.sinceMs

/**
 * A lock that has not ended shows that a consumer is at work, or that an event will report its end. A retry lock
 * shows neither, though it may hold back the other items: competing consumers pass it, the event for the items that
 * they could take may have been lost, and the lock lives for up to a day. In an exclusive queue we then announce in
 * vain.
 */
export const waitsForSomebody = (record: QueueRecord): boolean =>
  hasFree(record) && !isWorkedOn(record)

/** The timer waits for something that has nothing to do with free items, and comes too late for them. */
export const isTooFar = (record: QueueRecord, nowMs: number): boolean =>
  record.checkAtMs !== undefined &&
  record.checkAtMs > nowMs + INTERVAL_MS_MAX &&
  !isWorkedOn(record)

/** A record with free items needs a timer, because perhaps no other call comes. */
export const lacksTimer = (record: QueueRecord, nowMs: number): boolean =>
  hasFree(record) && (record.checkAtMs === undefined || isTooFar(record, nowMs))

/** Somebody came after all, so the time of the next announcement no longer means anything. */
const isTakenSince = ({ reminder, lanes }: QueueRecord): boolean =>
  reminder !== undefined && reminder.taken !== takenIn(lanes)

function takenIn(lanes: QueueRecord['lanes']): number {
  let taken = 0
  for (const { frontier } of lanes.values()) taken += frontier
  return taken
}
