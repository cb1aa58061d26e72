// The difference between two states of a record as one update, on the condition of the fence: nobody else has raised
// the version. Appends and claims do not raise it, so the update respects what they touch: it puts no lane that
// exists, takes entries off a tail only as a prefix, and changes shared counters only by adding. If it drops a lane,
// ends or alters a lock, or sets a frontier or `checkAt`, it requires that this is still as it was seen.

import type { Expression } from '../../aws/table.ts'
import type { FencedChange, Guards } from '../core/fence.ts'
import { subtract } from '../core/ranges.ts'
import type { Lane, QueueRecord } from '../core/record.ts'
import { encodeConfiguration } from '../core/settings.ts'
import {
  encodeEnded,
  encodeLaneOptions,
  encodeLock,
  encodeReminder,
  noteName,
} from '../core/stored-record.ts'
import { recordUpdate } from './blind-updates.ts'
import { asScheduled, asScheduledBy, scheduleInRows, takeKeptRoom } from './later-rows.ts'

/** An expression holds 300 operators: with more frontiers to compare, the count of claims stands in. */
const FRONTIERS_NAMED = 40

export function fencedUpdate(change: FencedChange): ReturnType<Expression['build']> {
  const { before, after, guards } = change
  const update = recordUpdate()
  update.condition(`v=${update.value(before.version)}`)
  update.condition(`born=${update.value(before.born)}`)
  update.set('v', after.version)
  update.set('m', after.marks)

  changeLocks(update, before, after)
  if (after.ended !== before.ended) update.set('e', encodeEnded(after.ended))
  if (after.lastEndedMs !== before.lastEndedMs) update.set('le', after.lastEndedMs)
  if (after.configuration !== before.configuration) {
    update.set('cfg', encodeConfiguration(after.configuration))
  }
  changeFlags(update, change)
  if (after.notes !== before.notes) changeNotes(update, before, after)
  if (after.sequence !== before.sequence) changeSequence(update, before, after)
  if (after.scheduled !== before.scheduled) {
    scheduleInRows(update, before.scheduled, after.scheduled)
  }
  if (after.timed && !before.timed) update.set('tm', 'y')
  update.add('room', after.room - before.room)
  changeKeptRoom(update, after.keptRoom - before.keptRoom)
  update.add('g', after.returns - before.returns)
  update.add('i', after.inFlight - before.inFlight)
  update.add('b', after.tailBytes - before.tailBytes)
  update.add('a', after.appends - before.appends)

  const frontiers: number[] = []
  for (const [priority, lane] of before.lanes) {
    const next = after.lanes.get(priority)
    if (next === undefined) dropLane(update, lane)
    else if (next !== lane) changeLane(update, lane, next)
    if (next !== undefined && next.frontier !== lane.frontier) frontiers.push(priority)
  }
  const claims = guards.claims === true || frontiers.length > FRONTIERS_NAMED
  addGuards(update, before, { ...guards, claims })
  if (!claims) {
    for (const priority of frontiers) {
      const seen = before.lanes.get(priority)?.frontier
      update.condition(`L.${update.name(priority)}.f=${update.value(seen)}`)
    }
  }
  return update.build()
}

function changeLocks(update: Expression, before: QueueRecord, after: QueueRecord): void {
  for (const [lockId, lock] of before.locks) {
    const next = after.locks.get(lockId)
    if (next === lock) continue
    const name = update.name(lockId)
    // A write that ends or changes a lock requires that nobody acknowledged or extended it meanwhile.
    update.condition(`K.${name}.x=${update.value(lock.expiresAtMs)}`)
    if (next === undefined) update.removes.push(`K.${name}`)
    else update.set(`K.${name}`, encodeLock(next))
    update.removes.push(`F.${name}`)
  }
  for (const [lockId, lock] of after.locks) {
    if (before.locks.has(lockId)) continue
    update.set(`K.${update.name(lockId)}`, encodeLock(lock))
  }
}

function changeFlags(update: Expression, { before, after, bringsBack }: FencedChange): void {
  if (after.work !== before.work) {
    if (after.work) update.set(update.name('work'), 'y')
    else update.removes.push(update.name('work'))
  }
  // Do this even if we have not seen the flag: somebody may have set it beside the fence.
  if (bringsBack) update.removes.push('dry')
  else if (after.dry && !before.dry) update.set('dry', 'y')
  if (after.reminder !== before.reminder) {
    if (after.reminder === undefined) update.removes.push('rm')
    else update.set('rm', encodeReminder(after.reminder))
  }
  if (after.notable) update.set('ev', 'y')
  else if (before.notable) update.removes.push('ev')
  if (before.holdUntilMs !== 0) update.removes.push(update.name('hold'))
  if (after.checkAtMs !== before.checkAtMs) {
    if (after.checkAtMs === undefined) update.removes.push('checkAt')
    else update.set('checkAt', after.checkAtMs)
    if (after.near && !before.near) update.set('wk', 'y')
    else if (!after.near && before.near) update.removes.push('wk')
    update.condition(
      before.checkAtMs === undefined
        ? 'attribute_not_exists(checkAt)'
        : `checkAt=${update.value(before.checkAtMs)}`,
    )
  }
}

/** Appends bring notes beside the fence; only fenced writes change them, or take them out. */
function changeNotes(update: Expression, before: QueueRecord, after: QueueRecord): void {
  for (const [hash, note] of before.notes) {
    const next = after.notes.get(hash)
    if (next === undefined) update.removes.push(update.name(noteName(hash)))
    else if (next !== note) update.set(update.name(noteName(hash)), next)
  }
  const { marks, forgotten } = after.moved
  if (marks !== before.moved.marks) update.set('km', marks)
  if (forgotten !== before.moved.forgotten) update.set('kx', forgotten)
}

/** Appends bring messages beside the fence, too. */
function changeSequence(update: Expression, before: QueueRecord, after: QueueRecord): void {
  if (before.sequence === undefined) update.condition('attribute_not_exists(sn)')
  else update.condition(`sn=${update.value(before.sequence)}`)
  update.set('sn', after.sequence)
}

/** Joins take it beside the fence. */
function changeKeptRoom(update: Expression, by: number): void {
  if (by < 0) takeKeptRoom(update, -by)
  else update.add('kr', by)
}

function dropLane(update: Expression, lane: Lane): void {
  const path = `L.${update.name(lane.priority)}`
  update.removes.push(path)
  update.condition(`size(${path}.t)=${update.value(lane.tail.length)}`)
}

function changeLane(update: Expression, before: Lane, after: Lane): void {
  // Named when first needed: DynamoDB refuses a name that is not used.
  const path = (key: string): string => `L.${update.name(before.priority)}.${key}`
  const stored = { before: encodeLaneOptions(before), after: encodeLaneOptions(after) }
  for (const key of ['o', 'r', 'x', 'k', 'd', 'q', 'w', 'y'] as const) {
    const value = stored.after[key]
    if (JSON.stringify(value) === JSON.stringify(stored.before[key])) continue
    if (value === undefined) update.removes.push(path(key))
    else update.set(path(key), value)
  }
  if (after.head !== before.head) update.set(path('h'), after.head)
  if (after.frontier !== before.frontier) update.set(path('f'), after.frontier)
  const takenOut = after.frontier === before.frontier ? firstTakenOut(before, after) : undefined
  // A claim that has passed this number has locked the item.
  if (takenOut !== undefined) update.condition(`${path('f')}<=${update.value(takenOut)}`)
  if (after.sealed !== before.sealed) update.set(path('s'), after.sealed)
  const appended = after.tail.slice(before.tail.length)
  if (appended.length > 0) {
    const t = path('t')
    update.sets.push(`${t}=list_append(${t},${update.value(appended)})`)
  }
  const dropped = before.tail.length - after.tail.length
  for (let index = dropped - 1; index >= 0; index -= 1) update.removes.push(path(`t[${index}]`))
}

/** The first number that this write settles ahead of the frontier. */
function firstTakenOut(before: Lane, after: Lane): number | undefined {
  // Only calls by id settle items there.
  const ahead = after.holes.filter(({ to }) => to > after.frontier)
  const first = subtract(ahead, before.holes).find(({ to }) => to > after.frontier)
  return first && Math.max(first.from, after.frontier)
}

function addGuards(update: Expression, before: QueueRecord, guards: Guards): void {
  if (guards.claims) update.condition(`c=${update.value(before.claims)}`)
  if (guards.appends) update.condition(`a=${update.value(before.appends)}`)
  if (guards.scheduled) asScheduled(update, before.scheduled)
  if (guards.scheduledByMs !== undefined) {
    asScheduledBy(update, before.scheduled, guards.scheduledByMs)
  }
  if (guards.lanesMade) update.condition(`n=${update.value(before.lanesMade)}`)
  if (guards.inFlightMax !== undefined) update.condition(`i<=${update.value(guards.inFlightMax)}`)
  if (guards.tailBytesMax !== undefined) update.condition(`b<=${update.value(guards.tailBytesMax)}`)
  if (guards.checkAtAfterMs !== undefined) {
    update.condition(`checkAt>${update.value(guards.checkAtAfterMs)}`)
  }
  for (const priority of guards.lanesAhead ?? []) {
    const size = before.lanes.get(priority)?.tail.length ?? 0
    update.condition(`size(L.${update.name(priority)}.t)=${update.value(size)}`)
  }
}
