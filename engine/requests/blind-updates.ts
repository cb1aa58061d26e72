// Blind writes: they name no version, but only what they rely on, so they pass beside whatever else happens to the
// record. Pops that are claims, acknowledgements, extensions, holds; and conditions that other updates share: the
// timer, the limit, the token of an update that we hand out, the number of an inbox message.

import { Expression } from '../../aws/table.ts'
import { HOLD_MS, IN_FLIGHT_MAX, TOKENS_MAX } from '../core/limits.ts'
import type { Claim } from '../core/plan-pop.ts'
import { earliestOf, isNear, itemsIn, type Lock, type QueueRecord } from '../core/record.ts'
import { behind, type Sequence } from '../core/repeated-pushes.ts'
import { encodeLimit, type Pass } from '../core/settings.ts'
import { WAITS } from '../core/settling.ts'
import { encodeLock } from '../core/stored-record.ts'

/**
 * An update of a queue's record. Engines of different ages write the same records, because a consumer's engine
 * is as old as its last deployment. So every write, blind or fenced, refuses a record whose format it does not
 * know (docs/formats.md). The record that comes with the refusal says which format it has. `seen`: requires that the
 * queue has not been forgotten and made again since.
 */
export function recordUpdate(seen?: QueueRecord): Expression {
  const update = new Expression()
  update.condition(KNOWN_FORMAT)
  if (seen !== undefined) update.condition(`born=${update.value(seen.born)}`)
  return update
}

/** Checking for a name uses up no value of the expression, which has few to spare. */
export const KNOWN_FORMAT = 'attribute_not_exists(fm)'
/** A hold that ends later than this was set by a clock far ahead of ours: do not wait for it. */
const HOLD_TRUSTED_MS = 2 * HOLD_MS

/** A claim. Each condition names the race that it prevents. `pass`: of the queue's pop limit, if it has one. */
export function claimUpdate(claim: Claim, pass: Pass): ReturnType<Expression['build']> {
  const { seen, priority, count, nowMs, expiresAtMs } = claim
  const update = recordUpdate(seen)
  const lane = `L.${update.name(priority)}`
  const lock = update.name(claim.lockId)
  const hold = update.name('hold')
  // A gate may hold pops back since. One whose time is over does not matter to a pop under the fence.
  update.condition('attribute_not_exists(gp)')
  // The lane may be another one by now.
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

  const signs = claim.signs === undefined ? {} : { s: claim.signs }
  update.set(`K.${lock}`, { x: expiresAtMs, p: priority, n: count, ...signs })
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

/**
 * Sets a lock to done if it is live, no matter what else changes in the record. Even a caller who has read the id of a
 * retry lock in the table cannot settle it.
 */
export function acknowledgeUpdate(lockId: string, nowMs: number): ReturnType<Expression['build']> {
  const update = recordUpdate()
  const expiry = `K.${update.name(lockId)}.x`
  update.condition(`${expiry}>${update.value(nowMs)}`)
  update.condition(`NOT contains(K.${update.name(lockId)}.s,${update.value(WAITS)})`)
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
  const update = recordUpdate(seen)
  const expiry = `K.${update.name(lockId)}.x`
  update.condition(`${expiry}=${update.value(lock.expiresAtMs)}`)
  update.set(expiry, expiresAtMs)
  lowerCheckAt(update, seen, expiresAtMs, nowMs)
  update.add('c', 1)
  return update.build()
}

export function holdUpdate(seen: QueueRecord, untilMs: number): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  update.set(update.name('hold'), untilMs)
  return update.build()
}

/** Marks that nothing is free, on condition that nothing was appended and nothing came back since we saw the record. */
export function dryUpdate(seen: QueueRecord): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  update.condition(`a=${update.value(seen.appends)}`)
  update.condition(`g=${update.value(seen.returns)}`)
  update.set('dry', 'y')
  return update.build()
}

/**
 * Makes sure, outside the fence, that the sweeper or Wake comes by this time: the timer must be no later. The
 * update relies on the record as seen, and its conditions check that this still holds.
 */
export function lowerCheckAt(
  update: Expression,
  { checkAtMs }: Pick<QueueRecord, 'checkAtMs'>,
  atMs: number,
  nowMs: number,
): void {
  // Wake ignores patient timers: of the two, neither may hide a prompt one.
  const wantedMs = earliestOf([checkAtMs, atMs]) as number
  if (checkAtMs === undefined) update.condition('attribute_not_exists(checkAt)')
  else if (checkAtMs === wantedMs) update.condition(`checkAt<=${update.value(atMs)}`)
  else update.condition(`checkAt=${update.value(checkAtMs)}`)
  if (checkAtMs !== wantedMs) setCheckAt(update, wantedMs, nowMs)
}

/** Sets the timer, and the flag that makes the stream announce it if it is near; otherwise removes the flag. */
export function setCheckAt(update: Expression, atMs: number, nowMs: number): void {
  update.set('checkAt', atMs)
  if (isNear(atMs, nowMs)) update.set('wk', 'y')
  else update.removes.push('wk')
}

/**
 * For what needs Wake and does not set the timer: somebody may have moved the one that we saw, and set a patient one,
 * which would hide ours. One that the stream announces is prompt.
 */
export function unlessPatientSince(update: Expression, seenMs: number): void {
  update.condition(`(checkAt=${update.value(seenMs)} OR attribute_exists(wk))`)
}

/** Lowers the timer in a separate write. */
export function checkAtUpdate(
  seen: QueueRecord,
  atMs: number,
  nowMs: number,
): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  update.sets.push('born=born')
  lowerCheckAt(update, seen, atMs, nowMs)
  return update.build()
}

/**
 * The condition of a blind write under a queue's limit (`pl` of pushes, `ol` of pops). The limit may be one that this
 * process has never seen, or another than the one of which the call has taken its slot: then the write fails, and
 * returns the record with the limit.
 */
export function limitAsKnown(update: Expression, attribute: 'pl' | 'ol', pass: Pass): void {
  if (pass === 'free') return
  const limit = `cfg.${attribute}`
  const none = `attribute_not_exists(${limit})`
  update.condition(
    pass === undefined ? none : `(${none} OR ${limit}=${update.value(encodeLimit(pass))})`,
  )
}

/** For an update that we hand out, so that somebody else sends it: it may pass only once. */
export type OnceOnly = {
  readonly token: string
  /** The record when this one was made. */
  readonly seen: QueueRecord
}

/**
 * The record remembers the tokens of the last such updates in the order in which they came, and how many it
 * has forgotten. This token comes after those that were there when we made it: so as long as the record has
 * forgotten no more than those, the list contains the token if the update was carried out.
 */
export function passOnce(update: Expression, { token, seen }: OnceOnly): void {
  const { kept, forgotten } = seen.tokens
  const [none, own] = [update.value([]), update.value([token])]
  // A queue that was forgotten and made again knows of no tokens.
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`(attribute_not_exists(ux) OR ux<=${update.value(kept + forgotten)})`)
  update.condition(`NOT contains(u,${update.value(token)})`)
  // The record itself keeps the bound: one process cannot know how many entries others handed out.
  update.condition(`(attribute_not_exists(u) OR size(u)<${update.value(TOKENS_MAX)})`)
  update.sets.push(`u=list_append(if_not_exists(u,${none}),${own})`)
}

/** Forgets the first tokens. Meanwhile others may come at the end of the list, but none may go. */
export function forgetTokensUpdate(
  seen: QueueRecord,
  tokens: number,
): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  const { forgotten } = seen.tokens
  update.condition(forgotten === 0 ? 'attribute_not_exists(ux)' : `ux=${update.value(forgotten)}`)
  for (let index = tokens - 1; index >= 0; index -= 1) update.removes.push(`u[${index}]`)
  update.set('ux', forgotten + tokens)
  return update.build()
}

/**
 * Requires that the queue has not come as far as this message. A copy that comes late, or a batch that is applied
 * again from its beginning, finds the number of its last message or a higher one. The numbers of another inbox do
 * not matter: they sort below or above all numbers of this one.
 */
export function comesAfter(update: Expression, first: Sequence): void {
  const [isBelow, isBeyond] = [`sn<${update.value(first)}`, `sn>${update.value(behind(first))}`]
  update.condition(`(attribute_not_exists(sn) OR ${isBelow} OR ${isBeyond})`)
}

/** Notes that the queue has come to this message, which brought nothing. */
export function passedUpdate(
  seen: QueueRecord,
  sequence: Sequence,
  applied: string,
): ReturnType<Expression['build']> {
  const update = recordUpdate(seen)
  comesAfter(update, sequence)
  update.set('sn', applied)
  return update.build()
}
