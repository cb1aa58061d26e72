import type { Expression } from '../../foundation/expression.ts'
import type { Claim } from '../core/claim.ts'
import type { Pass } from '../core/limit-pass.ts'
import { HOLD_MS, IN_FLIGHT_MAX } from '../core/limits.ts'
import { itemsIn, type Lock, type QueueRecord } from '../core/record.ts'
import { encodeLock } from '../core/stored-lock.ts'
import { limitAsKnown } from './limit-condition.ts'
import { recordUpdate } from './record-update.ts'
import { lowerCheckAt, unlessPatientSince } from './timer-update.ts'

/** A hold that ends later than this was set by a clock far ahead of ours: do not wait for it. */
const HOLD_TRUSTED_MS = 2 * HOLD_MS

/** A claim. Each condition names the race that it prevents. `pass`: of the queue's pop limit, if it has one. */
export function claimUpdate(claim: Claim, pass: Pass): ReturnType<Expression['build']> {
  const { seen, priority, count, nowMs, expiresAtMs } = claim
  const update = recordUpdate()
  const lane = `L.${update.name(priority)}`
  const lock = update.name(claim.lockId)
  const hold = update.name('hold')
  // The queue, or the lane, may be another one by now.
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`${lane}.e=${update.value(claim.epoch)}`)
  // Something may have come back to the front. While `checkAt` is ahead, no lock has expired.
  update.condition(`g=${update.value(seen.returns)}`)
  update.condition(`checkAt>${update.value(nowMs)}`)
  // The sweeper would come too late for this lock.
  update.condition(`checkAt<=${update.value(expiresAtMs)}`)
  unlessPatientSince(update, seen.checkAtMs as number)
  // The items must exist. Ends only grow, so those that we saw do.
  const frontier = claim.exact ? '=' : '<='
  update.condition(
    `${lane}.f${frontier}${update.value(claim.exact ? seen.lanes.get(priority)?.frontier : claim.frontierMax)}`,
  )
  // A lane ahead may have got items.
  if (priority > 0) update.condition(`n=${update.value(seen.lanesMade)}`)
  for (const ahead of claim.lanesAhead) {
    const other = seen.lanes.get(ahead)
    const path = `L.${update.name(ahead)}`
    update.condition(`size(${path}.t)=${update.value(other?.tail.length ?? 0)}`)
    update.condition(`${path}.s=${update.value(other?.sealed ?? 0)}`)
  }
  if (claim.noAppends) update.condition(`a=${update.value(seen.appends)}`)
  limitAsKnown(update, 'ol', pass)
  update.condition(`i<=${update.value(IN_FLIGHT_MAX - count)}`)
  // A fenced write may be starving: then stand back for a moment.
  const heldBy = `${hold} BETWEEN ${update.value(nowMs)} AND ${update.value(nowMs + HOLD_TRUSTED_MS)}`
  update.condition(`(attribute_not_exists(${hold}) OR NOT ${heldBy})`)
  if (claim.acknowledge !== undefined) {
    const earlier = `K.${update.name(claim.acknowledge)}.x`
    update.condition(`${earlier}>${update.value(nowMs)}`)
    acknowledgesAsSeen(update, claim)
    update.set(earlier, 0)
  }

  update.set(`K.${lock}`, { x: expiresAtMs, p: priority, n: count })
  update.sets.push(`F.${lock}=${lane}.f`)
  update.sets.push(`${lane}.f=${lane}.f+${update.value(count)}`)
  if (claim.work && !seen.work) update.set(update.name('work'), 'y')
  update.add('c', 1)
  update.add('i', count)
  update.removes.push('ev')
  return update.build()
}

/** The answer says how many items it acknowledged, so no other call may have settled any of them meanwhile. */
function acknowledgesAsSeen(update: Expression, { seen, acknowledge = '' }: Claim): void {
  const lock = seen.locks.get(acknowledge)
  if (lock === undefined) return
  const path = `K.${update.name(acknowledge)}`
  const { r } = encodeLock(lock)
  const count = update.value(itemsIn(lock.stretches))
  update.condition(`(${path}.n=${count} OR ${path}.r=${update.value(r)})`)
}

/** Sets a lock to done if it is live, no matter what else changes in the record. */
export function acknowledgeUpdate(lockId: string, nowMs: number): ReturnType<Expression['build']> {
  const update = recordUpdate()
  const expiry = `K.${update.name(lockId)}.x`
  update.condition(`${expiry}>${update.value(nowMs)}`)
  update.set(expiry, 0)
  update.removes.push('ev')
  return update.build()
}

/** Compares the lock's own expiry: an extension that lands late must not undo a later one. */
export function extendUpdate(
  seen: QueueRecord,
  lockId: string,
  lock: Lock,
  expiresAtMs: number,
  nowMs: number,
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  const expiry = `K.${update.name(lockId)}.x`
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`${expiry}=${update.value(lock.expiresAtMs)}`)
  update.set(expiry, expiresAtMs)
  lowerCheckAt(update, seen, expiresAtMs, nowMs)
  update.add('c', 1)
  return update.build()
}

export function holdUpdate(seen: QueueRecord, untilMs: number): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`born=${update.value(seen.born)}`)
  update.set(update.name('hold'), untilMs)
  return update.build()
}
