import { toRecall } from './housekeeping.ts'
import { CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED } from './limits.ts'
import { standingOf } from './lock-standing.ts'
import type { PopCommand } from './pop.ts'
import { freeIn, lanesInOrder, type QueueRecord } from './record.ts'
import { isPatient } from './timers.ts'

/**
 * A claim takes fresh items for one of several competing consumers without the fence: it advances
 * the frontier by k from wherever it is, so claims commute. Its conditions say that nothing a pop
 * would have to serve first can have appeared since the record was seen.
 */
export type Claim = {
  readonly seen: QueueRecord
  readonly lockId: string
  readonly priority: number
  readonly epoch: string
  readonly count: number
  /** As asked for, where the lane had not as many or an answer does not hold them. */
  readonly wanted: number
  /** The frontier may not be past this: the items up to there are known to exist, for ever. */
  readonly frontierMax: number
  /** The frontier is exactly as seen: the items were read, to know how many fit an answer. */
  readonly exact: boolean
  readonly nowMs: number
  readonly expiresAtMs: number
  readonly lanesAhead: readonly number[]
  /** Too many lanes ahead to name: no append at all since. */
  readonly noAppends: boolean
  readonly acknowledge: string | undefined
  readonly work: boolean
}

/** A claim, where one will do; otherwise the pop goes under the fence. */
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
  // Wake does not come for such a timer, which would hide the end of this lock.
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
    // It takes numbers in a row: up to the first that was taken out by its id, ahead of the frontier.
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
