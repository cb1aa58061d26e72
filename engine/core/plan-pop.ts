// Which items a pop may take now, and by which write. While a gate holds the queue back it takes none. Under the fence it serves the best lanes first, ends what has
// expired, and may acknowledge a lock; its guards hold it to what it has seen, so that it passes over nothing that came
// meanwhile. Beside the fence, a claim does the same for competing consumers, where it can: any number of claims pass,
// whatever their order. A pop finds the queue locked or empty, a lock of its own from an earlier call with its key,
// expired locks to end first, or items to take.

import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import type { Guards } from './fence.ts'
import { toRecall } from './housekeeping.ts'
import type { PoppedItem } from './item.ts'
import {
  CLAIM_BLIND_ITEMS,
  IN_FLIGHT_MAX,
  LANES_AHEAD_NAMED,
  LOCK_LANES_PER_WRITE,
  LOCKS_PER_WRITE,
} from './limits.ts'
import { endExpired, endLock, expiredLocks, foldDone, liveLocks, standingOf } from './locks.ts'
import { mayJoin } from './plan-join.ts'
import { countOf, take } from './ranges.ts'
import {
  deadIn,
  freeIn,
  inFlightOf,
  isPatient,
  itemsIn,
  type Lock,
  lanesInOrder,
  type QueueRecord,
  roomIn,
  type Stretch,
  stretchesOf,
} from './record.ts'
import { isOvertaken, isRetry, passFrontier, settle } from './settling.ts'

/** `waitedMs`: how long the pop waited, if it was asked to and found nothing at first. 0: too many others wait. */
export type PopOutcome = (
  | {
      readonly kind: 'items'
      readonly items: readonly PoppedItem[]
      readonly lock?: {
        readonly id: string
        readonly expiresAtMs: number
        readonly ttlSeconds: number
      }
      /** The answer was full before `count` was reached. */
      readonly more: boolean
      readonly itemsAcknowledged?: number
    }
  | {
      readonly kind: 'empty'
      readonly itemsAcknowledged?: number
      /**
       * Pop again, because there may be more: the pop passed over expired items and has not seen the end of them, or it
       * acknowledged a lock, and then another consumer locked the queue, or the queue's limit was reached.
       */
      readonly more?: true
    }
  | {
      readonly kind: 'locked'
      readonly expiresAtMs: number
      /** Nobody holds a lock: items that were released with a delay keep the others waiting until then. */
      readonly forRetry?: true
    }
) & { readonly waitedMs?: number }

export type PopCommand = {
  readonly count: number
  readonly competing: boolean
  /** Absent: the items are settled as they are taken. */
  readonly lock?:
    | ({ readonly id: string; readonly ttlMs: number } & Pick<Lock, 'keyHash' | 'signs'>)
    | undefined
  readonly acknowledge?: string | undefined
  /** Under contention: takes from the first lane with items only, so that no lane ahead can make it fail. */
  readonly oneLane?: boolean
}

export type PopPlan =
  /** `forRetry`: nobody holds a lock; items that were released with a delay keep the others waiting. */
  | { readonly kind: 'locked'; readonly untilMs: number; readonly forRetry: boolean }
  | { readonly kind: 'refused'; readonly error: QueueError }
  /** An earlier pop with this key still has its lock. `draft` is set if this pop has another lock to acknowledge. */
  | {
      readonly kind: 'repeat'
      readonly lockId: string
      readonly lock: Lock
      readonly draft?: QueueRecord | undefined
      readonly itemsAcknowledged?: number | undefined
    }
  /** Too many locks have expired for one write, or they leave nothing to take: end them first. */
  | { readonly kind: 'end-expired'; readonly draft: QueueRecord }
  /** Nothing to take. `draft` is set if the pop still has a lock to acknowledge. */
  | {
      readonly kind: 'empty'
      readonly draft?: QueueRecord
      readonly itemsAcknowledged?: number | undefined
    }
  | PopTake

export type PopTake = {
  readonly kind: 'take'
  /** The record with everything but the taking done. */
  readonly draft: QueueRecord
  readonly picks: readonly Stretch[]
  readonly itemsAcknowledged?: number | undefined
  /** How much lighter the record becomes by the locks that this write ends. */
  readonly inFlightFreed: number
}

export function planPop(record: QueueRecord, command: PopCommand, nowMs: number): PopPlan {
  if (endsTooMuch(record, nowMs)) return { kind: 'end-expired', draft: endExpired(record, nowMs) }
  const repeated = repeatOf(record, command, nowMs)
  if (repeated !== undefined) return repeated
  const { gateUntilMs = 0 } = record
  if (gateUntilMs > nowMs) return { kind: 'locked', untilMs: gateUntilMs, forRetry: false }

  const acknowledged = acknowledgeFirst(record, command, nowMs)
  if ('kind' in acknowledged) return acknowledged
  const { itemsAcknowledged } = acknowledged

  const returned = endExpired(acknowledged.draft, nowMs)
  const inTheWay = liveLocks(returned, nowMs).filter(([, lock]) => !isOvertaken(lock))
  if (!command.competing && inTheWay.length > 0) {
    const untilMs = Math.max(...inTheWay.map(([, lock]) => lock.expiresAtMs))
    return { kind: 'locked', untilMs, forRetry: inTheWay.every(([, lock]) => isRetry(lock)) }
  }
  // Folding can wait if other locks have used up the expression already.
  const draft = returned === acknowledged.draft ? foldDone(returned, nowMs) : returned

  const limit = command.lock === undefined ? command.count : Math.min(command.count, roomIn(draft))
  const picks = choose(draft, Math.max(limit, 1), command.oneLane ?? false)
  if (picks.length === 0) {
    if (itemsAcknowledged !== undefined) return { kind: 'empty', draft, itemsAcknowledged }
    // Items that came back too often must reach the dead-letter queue soon, not only when the sweeper comes.
    return returned === record ? { kind: 'empty' } : { kind: 'end-expired', draft: returned }
  }
  if (limit === 0) return { kind: 'refused', error: tooManyInFlight(draft) }
  const inFlightFreed = inFlightOf(record) - inFlightOf(draft)
  return { kind: 'take', draft, picks, inFlightFreed, itemsAcknowledged }
}

/** Whether more locks have expired, or in more lanes, than a pop can end beside its own work. */
function endsTooMuch(record: QueueRecord, nowMs: number): boolean {
  const expired = expiredLocks(record, nowMs)
  if (expired.length > LOCKS_PER_WRITE) return true
  const lanes = new Set(expired.flatMap(({ stretches }) => stretches.map((s) => s.priority)))
  return lanes.size > LOCK_LANES_PER_WRITE
}

function repeatOf(record: QueueRecord, command: PopCommand, nowMs: number): PopPlan | undefined {
  const keyHash = command.lock?.keyHash
  if (keyHash === undefined) return undefined
  const found = liveLocks(record, nowMs).find(([, lock]) => lock.keyHash === keyHash)
  if (found === undefined) return undefined
  const repeat = { kind: 'repeat', lockId: found[0], lock: found[1] } as const
  const acknowledged = acknowledgeFirst(record, command, nowMs)
  // The first call settled that lock with its pop, even if the record no longer says how it ended.
  if ('kind' in acknowledged || acknowledged.itemsAcknowledged === undefined) return repeat
  const { draft, itemsAcknowledged } = acknowledged
  return { ...repeat, itemsAcknowledged, draft: draft === record ? undefined : draft }
}

function acknowledgeFirst(
  record: QueueRecord,
  command: PopCommand,
  nowMs: number,
):
  | { draft: QueueRecord; itemsAcknowledged?: number | undefined }
  | (PopPlan & { kind: 'refused' }) {
  if (command.acknowledge === undefined) return { draft: record }
  const standing = standingOf(record, command.acknowledge, nowMs, 'acknowledge')
  switch (standing.kind) {
    case 'refused':
      return { kind: 'refused', error: standing.error }
    case 'acknowledged':
      return { draft: record, itemsAcknowledged: standing.items }
    case 'live':
      return {
        draft: endLock(record, command.acknowledge, 'acknowledged', nowMs),
        itemsAcknowledged: itemsIn(standing.lock.stretches),
      }
    default:
      return standing satisfies never
  }
}

/** The first free items over all lanes, best priority first. */
export function choose(record: QueueRecord, count: number, oneLane: boolean): readonly Stretch[] {
  const picks: Stretch[] = []
  let left = count
  for (const [priority, lane] of lanesInOrder(record)) {
    const free = freeIn(record, lane)
    if (free.length === 0) continue
    if (left === 0 || (oneLane && picks.length > 0)) break
    const taken = take(free, left)
    picks.push(...stretchesOf(priority, taken))
    left -= countOf(taken)
  }
  return picks
}

function tooManyInFlight(record: QueueRecord): QueueError {
  const dead = deadIn(record)
  const to = deadLetterQueueOf(record.queue)
  const waiting = `; ${dead} of them are dead and wait to be moved to "${to}"`
  return new QueueError(
    'TOO_MANY_LOCKS',
    `Cannot lock more items because ${IN_FLIGHT_MAX} are in flight; acknowledge or release some${dead > 0 ? waiting : ''}`,
  )
}

/** The record after the first `count` of the planned items are taken. */
export function takeItems(
  plan: PopTake,
  count: number,
  command: PopCommand,
  nowMs: number,
): { draft: QueueRecord; guards: Guards; stretches: readonly Stretch[]; expiresAtMs: number } {
  const stretches = take(plan.picks, count)
  const passed = passFrontier(plan.draft, stretches)
  const expiresAtMs = nowMs + (command.lock?.ttlMs ?? 0)
  const draft =
    command.lock === undefined
      ? settle(passed, stretches)
      : withLock(passed, command.lock.id, {
          expiresAtMs,
          stretches,
          keyHash: command.lock.keyHash,
          signs: command.lock.signs,
        })
  return { draft, stretches, expiresAtMs, guards: popGuards(plan, stretches, command, nowMs) }
}

/** What must still hold when DynamoDB applies the pop, so that it passes over nothing. */
function popGuards(
  { draft: record, inFlightFreed }: PopTake,
  stretches: readonly Stretch[],
  command: PopCommand,
  nowMs: number,
): Guards {
  const last = Math.max(...stretches.map(({ priority }) => priority))
  const ahead = [...record.lanes.keys()].filter((priority) => priority < last)
  const exclusive = !command.competing || command.lock?.keyHash !== undefined
  // Beside the fence, somebody may have extended a lock that we saw alive, to end sooner. That lowers
  // `checkAt`; if `checkAt` has passed already, only the count of claims can tell.
  const { checkAtMs } = record
  const timerAhead = checkAtMs !== undefined && checkAtMs > nowMs
  return {
    claims: exclusive || (record.locks.size > 0 && !timerAhead),
    checkAtAfterMs: !exclusive && timerAhead ? nowMs : undefined,
    lanesMade: last > 0,
    ...(ahead.length <= LANES_AHEAD_NAMED ? { lanesAhead: ahead } : { appends: true }),
    inFlightMax: command.lock && IN_FLIGHT_MAX + inFlightFreed - itemsIn(stretches),
  }
}

const withLock = (record: QueueRecord, lockId: string, lock: Lock): QueueRecord => ({
  ...record,
  locks: new Map(record.locks).set(lockId, lock),
})

/**
 * A claim takes fresh items for one of several competing consumers without the fence: it advances
 * the frontier by k from wherever it is, so claims commute. Its conditions make sure that nothing which a pop
 * must serve first has appeared since we saw the record.
 */
export type Claim = {
  readonly seen: QueueRecord
  readonly lockId: string
  readonly signs: string | undefined
  readonly priority: number
  readonly epoch: string
  readonly count: number
  /** How many the caller asked for, where the lane had fewer or one answer cannot hold them. */
  readonly wanted: number
  /** The frontier may not be past this. The items up to there exist, and always will. */
  readonly frontierMax: number
  /** The frontier must be exactly as seen: we have read the items, to know how many fit an answer. */
  readonly exact: boolean
  readonly nowMs: number
  readonly expiresAtMs: number
  readonly lanesAhead: readonly number[]
  /** There are too many lanes ahead to name, so no append at all may have come since. */
  readonly noAppends: boolean
  readonly acknowledge: string | undefined
  readonly work: boolean
}

/** A claim, if one will do; otherwise the pop needs the fence. */
export function planClaim(
  record: QueueRecord,
  command: PopCommand,
  nowMs: number,
): Claim | undefined {
  const { lock, competing, acknowledge } = command
  if (!competing || lock === undefined || lock.keyHash !== undefined) return undefined
  if (record.gateUntilMs !== undefined) return undefined
  const expiresAtMs = nowMs + lock.ttlMs
  // `checkAt` is at most the earliest expiry: while it is ahead, no lock can have expired.
  if (record.checkAtMs === undefined) return undefined
  if (record.checkAtMs <= nowMs || record.checkAtMs > expiresAtMs) return undefined
  // Wake ignores such a timer, so this lock would end unnoticed.
  if (isPatient(record.checkAtMs)) return undefined
  if (acknowledge !== undefined && standingOf(record, acknowledge, nowMs).kind !== 'live') {
    return undefined
  }
  const ahead: number[] = []
  const lanes = lanesInOrder(record)
  for (const [index, [priority, lane]] of lanes.entries()) {
    const free = freeIn(record, lane)
    const first = free[0]
    if (first === undefined) {
      ahead.push(priority)
      continue
    }
    // A claim takes neighbouring numbers: it stops at the first one ahead that a call by id took out.
    const end = first.to
    if (first.from !== lane.frontier) return undefined
    const count = Math.min(command.count, end - lane.frontier)
    const wantsMore = count < command.count
    if (wantsMore && free.length > 1) return undefined
    if (wantsMore && lanes.slice(index + 1).some(([, other]) => freeIn(record, other).length > 0)) {
      return undefined
    }
    if (record.inFlight + count > IN_FLIGHT_MAX) return undefined
    const reached = { ...lane, frontier: lane.frontier + count }
    return {
      seen: record,
      lockId: lock.id,
      signs: lock.signs,
      priority,
      epoch: lane.epoch,
      count,
      wanted: command.count,
      frontierMax: end - count,
      exact: count > CLAIM_BLIND_ITEMS,
      nowMs,
      expiresAtMs,
      lanesAhead: ahead.length <= LANES_AHEAD_NAMED ? ahead : [],
      noAppends: ahead.length > LANES_AHEAD_NAMED,
      acknowledge,
      work: toRecall(reached, record.configuration.bufferSegments).to > 0,
    }
  }
  return undefined
}

// How a pop waits: when it looks again, and whether the record it sees is worth a pop.

/**
 * On average, an item waits half of this for a caller who waits for it. One look is half a read unit, so in a call
 * that waits 20 s, the looks cost some 3 % of what its function costs meanwhile.
 */
const LOOK_EVERY_MS = 300
const FIRST_LOOK_MS = 50

/** Varies by up to a quarter, so that many callers who wait for one queue do not all look at the same moment. */
export function lookPauseMs(looks: number, leftMs: number, random: number): number {
  const pauseMs = Math.min(LOOK_EVERY_MS, FIRST_LOOK_MS * 2 ** looks) * (0.75 + random / 2)
  return Math.max(0, Math.min(leftMs, pauseMs))
}

/** The record may be older than the last write, so this is a guess; the pop decides. */
export function hasSomethingFor(record: QueueRecord, command: PopCommand, nowMs: number): boolean {
  if (mayJoin(record, nowMs)) return true
  const { kind } = planPop(record, command, nowMs)
  return kind !== 'empty' && kind !== 'locked'
}
