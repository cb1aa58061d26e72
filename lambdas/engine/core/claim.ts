import { toRecall } from './housekeeping.ts'
import { CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED } from './limits.ts'
import { standingOf } from './lock-standing.ts'
import type { PopCommand } from './pop.ts'
import { freeIn, lanesInOrder, type QueueRecord } from './record.ts'
import { isPatient } from './timers.ts'

/**
 * A claim takes fresh items for one of several competing consumers without the fence: it advances
 * the frontier by k from wherever it is, so claims commute. Its conditions make sure that nothing which a pop
 * must serve first has appeared since we saw the record.
 */
export type Claim = {
  readonly seen: QueueRecord
  readonly lockId: string
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
