import {
  decodeItem,
  decodeReference,
  type Item,
  isReference,
  spanOf,
} from '../../../../engine/core/item.ts'
import { itemId } from '../../../../engine/core/keys.ts'
import type { Lane } from '../../../../engine/core/record.ts'
import type { PushItem } from '../../../../engine/queues.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { type ItemRecord, itemIn, type PushedBy } from './ledger.ts'
import type { Model } from './model.ts'
import { batchEntries } from './rows.ts'
import type { ScheduledItem } from './scheduled-items.ts'
import type { LaneLog, Put } from './snapshot.ts'

/** Where an item has come to: to the end of a lane, or among those that wait for their time. */
type Arrival = Pick<ScheduledItem, 'item' | 'record' | 'priority' | 'id'> & {
  readonly queue: string
  /** The second in which it is due, if that is ahead. */
  readonly due: number | undefined
}

const at = ({ queue, id }: Arrival): string => `${queue} ${id}`

/** An item at the end of a lane: pushed, moved, or due. */
export function noteInLane(model: Model, log: LaneLog, item: Item, record: ItemRecord): void {
  const { queue, epoch, priority, places } = log
  const id = itemId({ epoch, priority, sequence: places.length })
  const { scheduled } = model.queue(queue)
  // Whether its entry has left as well, we see at the end of the request.
  const { scheduledId } = item
  if (scheduledId !== undefined && scheduled.isThere(scheduledId)) {
    scheduled.joining.set(scheduledId, { lane: priority, item })
    model.moved.add(record)
    stored(model, record)
    return
  }
  noteArrival(model, { item, record, queue, priority, id, due: undefined })
}

export function noteScheduled(model: Model, queue: string, one: ScheduledItem): void {
  noteArrival(model, { ...one, queue })
  model.world.statistics.count('path scheduled')
}

function stored(model: Model, record: ItemRecord): void {
  record.live += 1
  model.touched.add(record)
  if (record.fate === undefined) return
  model.violated('what is gone stays gone', `${record.text} was ${record.fate}`)
}

function noteArrival(model: Model, arrival: Arrival): void {
  const { operation } = model
  const { item, record } = arrival
  if (isNewOccurrence(model, arrival)) noteOccurrence(model, arrival)
  else if (!record.appended) notePushed(model, arrival)
  else {
    model.moved.add(record)
    // A push that finds no room may bury what it has just appended, where that was over from the start.
    const isBuried = item.reason !== undefined
    if (operation !== undefined && record.pushedBy.operations.includes(operation) && !isBuried) {
      model.violated('a push is carried out once', `${item.text} once more at ${at(arrival)}`)
    }
    if (operation?.command.verb === 'move') noteMoved(model, arrival, operation)
    else if (arrival.due !== undefined) {
      model.violated('only a push or a move schedules', `${item.text} at ${at(arrival)}`)
    }
    if (operation?.command.verb === 'redrive') {
      operation.effects.redriven += 1
      model.noteEffect(`${item.text} was redriven to ${at(arrival)}`)
    }
  }
  stored(model, record)
}

function notePushed(model: Model, arrival: Arrival): void {
  const { item, record } = arrival
  const { pushedBy } = record
  record.appended = true
  pushedBy.appended += 1
  pushedBy.appendedMs = Math.min(pushedBy.appendedMs, model.world.scheduler.nowMs)
  record.first = { at: model.pushed, lane: `${arrival.queue} ${arrival.priority} ${arrival.due}` }
  if (item.reason !== undefined) pushedBy.isBuried = true
  model.touchedPushes.add(pushedBy)
  model.pushed += 1
  const owner = pusherOf(model, pushedBy)
  if (owner === undefined) {
    model.violated('a push appends its own items', `${item.text} at ${at(arrival)}`)
    return
  }
  model.noteEffect(`${item.text} was stored at ${at(arrival)}`, owner)
  owner.effects.appended += 1
  // What cannot be pushed is among the dead letters at once, for good.
  if (item.reason === undefined) checkAsAsked(model, owner, arrival)
  if (owner !== model.operation) model.world.statistics.count('path push with others')
}

/** What a schedule has pushed comes again as well: from the dead letters, or moved. */
function isNewOccurrence({ ledger, operation }: Model, { item }: Arrival): boolean {
  if (!ledger.schedules.has(item.text) || item.reason !== undefined) return false
  const verb = operation?.command.verb ?? ''
  return item.dueMs === undefined
    ? verb === 'runSchedule'
    : verb === 'returnExpiredLocks' || verb === 'wake' || /Schedules?$/.test(verb)
}

function noteOccurrence({ ledger, world }: Model, { item, record, queue }: Arrival): void {
  const occurrences = ledger.schedules.get(item.text)
  if (occurrences !== undefined) occurrences.came += 1
  occurrences?.found(item)
  record.appended = true
  record.pushedBy.appended = 1
  world.crossings.note(queue, 'schedule')
}

/** The call that brings this, of those that go with the request. */
function pusherOf({ world }: Model, { operations }: PushedBy): Operation | undefined {
  const { operation, together = [] } = world.applying ?? {}
  return [...together, operation].find((one) => one !== undefined && operations.includes(one))
}

/** It expires by any clock that its push may have gone by, and is due in the first whole second that is not too early. */
function checkAsAsked(model: Model, { startedMs, command }: Operation, arrival: Arrival): void {
  const { scheduler, skewMaxMs } = model.world
  const { item, due } = arrival
  const given: Partial<PushItem> = itemIn(command, item.text) ?? {}
  const { expiresInSeconds, expiresAtMs, sinceMs: countedFromMs } = given
  const sinceMs = (item.expiresAtMs ?? Number.NaN) - 1_000 * (expiresInSeconds ?? 0)
  const isAsAsked =
    expiresInSeconds === undefined
      ? item.expiresAtMs === expiresAtMs
      : countedFromMs !== undefined
        ? sinceMs === countedFromMs
        : sinceMs >= Math.floor(startedMs) - skewMaxMs && sinceMs <= scheduler.nowMs + skewMaxMs
  const what = `${item.text} at ${at(arrival)}`
  if (!isAsAsked) model.violated('an item expires when it was asked to', what)
  const dueMs = given.deliverAtMs ?? item.pushedAtMs + 1_000 * (given.delaySeconds ?? 0)
  // At once if that time had come.
  const wanted = dueMs > item.pushedAtMs ? Math.ceil(dueMs / 1_000) : undefined
  if (wanted !== due) model.violated('an item is due when it was asked to be', what)
}

function noteMoved(model: Model, arrival: Arrival, operation: Operation): void {
  const { command, effects, latestMs } = operation
  if (command.verb !== 'move') return
  const { item, record, priority, queue, id, due } = arrival
  const { queue: to = command.queue, priority: wanted = priority, deliverAtMs } = command.request
  // It made room for the move: it was there, and had expired.
  if (queue === `${to}-deadletter`) return
  if (to !== queue || wanted !== priority) {
    model.violated('an item is moved to where it was to go', `${item.text} to ${at(arrival)}`)
  }
  effects.movedTo.set(record.text, id)
  if (deliverAtMs === undefined) return
  const asked = Math.ceil(deliverAtMs / 1_000)
  if (due === undefined ? 1_000 * asked > latestMs : due !== asked) {
    model.violated('an item is due when it was moved to', `${item.text} at ${at(arrival)}`)
  }
  if (due !== undefined) model.world.statistics.count('path moved to a time')
}

/**
 * Entries leave a tail as a prefix and come to it at the end; nothing between changes. A new entry gets
 * its sequence number here, once and for all.
 */
export function checkTail({ model, queue, before }: Put, priority: number, after: Lane): void {
  const old = before?.record.lanes.get(priority)
  const known = old?.epoch === after.epoch ? old : undefined
  if (known?.tail === after.tail && known.sealed === after.sealed) return
  const where = `lane ${priority} of ${queue}`
  let log = model.log(queue, after.epoch, priority)
  if (known === undefined) {
    if (after.sealed !== 0 || after.head !== 0 || after.frontier !== 0) {
      model.violated('a lane starts at 0', where)
    }
    if (log !== undefined) model.violated('an epoch is used once', `${after.epoch} in ${where}`)
    log = model.makeLog(queue, after.epoch, priority)
  }
  const kept = known === undefined ? [] : withoutPrefix(model, known, after)
  if (kept.some((entry, index) => entry !== after.tail[index])) {
    const what = `the tail of ${where} was ${kept.join()} and is ${after.tail.join()}`
    model.violated('a sequence number never changes its item', what)
    return
  }
  for (const entry of after.tail.slice(kept.length)) append(model, log as LaneLog, entry)
}

function withoutPrefix(model: Model, before: Lane, after: Lane): readonly string[] {
  let sealed = before.sealed
  let dropped = 0
  while (sealed < after.sealed && dropped < before.tail.length) {
    sealed += spanOf(before.tail[dropped] as string)
    dropped += 1
  }
  if (sealed !== after.sealed) {
    const what = `${before.sealed} to ${after.sealed}, not to the edge of an entry`
    model.violated('entries leave a tail as a prefix', `sealed moved from ${what}`)
  }
  return before.tail.slice(dropped)
}

function append(model: Model, log: LaneLog, entry: string): void {
  const entries = isReference(entry) ? batchEntries(model, log.queue, entry) : [entry]
  if (entries === undefined) {
    model.violated('every pointer has its object', `an appended batch is not there: ${entry}`)
    return
  }
  if (isReference(entry)) {
    model.noteBatch(log, log.places.length, decodeReference(entry))
    model.world.statistics.count(entry[1] === 's' ? 'path batch in S3' : 'path batch in rows')
  }
  for (const one of entries) appendItem(model, log, one)
}

function appendItem(model: Model, log: LaneLog, entry: string): void {
  const item = decodeItem(entry)
  const record = model.ledger.item(item.text)
  const at = `${log.queue} lane ${log.priority} number ${log.places.length}`
  if (record === undefined) {
    model.violated('nothing is delivered that was not pushed', `${item.text} at ${at}`)
    return
  }
  noteInLane(model, log, item, record)
  const sinceMs = model.world.scheduler.nowMs
  const sequence = log.places.length
  log.places.push({ log, sequence, entry, item, record, sinceMs, handouts: 0 })
}
