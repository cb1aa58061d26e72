import {
  decodeItem,
  decodeReference,
  type Item,
  isReference,
  spanOf,
} from '../../../../lambdas/engine/core/entry.ts'
import { itemId } from '../../../../lambdas/engine/core/keys.ts'
import type { Lane } from '../../../../lambdas/engine/core/record.ts'
import type { PushItem } from '../../../../lambdas/engine/queues.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { batchEntries } from './batches.ts'
import type { LaneLog } from './lane-log.ts'
import type { PushedBy } from './ledger.ts'
import type { Model } from './model.ts'

/**
 * Entries leave a tail as a prefix and come to it at the end; nothing between changes. A new entry gets
 * its sequence number here, once and for all.
 */
export function checkTail(
  model: Model,
  queue: string,
  priority: number,
  before: Lane | undefined,
  after: Lane,
): void {
  const known = before !== undefined && before.epoch === after.epoch
  if (known && before.tail === after.tail && before.sealed === after.sealed) return
  let kept: readonly string[] = []
  let log: LaneLog | undefined
  if (known) {
    log = model.log(queue, after.epoch, priority)
    kept = withoutPrefix(model, before, after)
  } else {
    if (after.sealed !== 0 || after.head !== 0 || after.frontier !== 0) {
      model.violated('a lane starts at 0', `lane ${priority} of ${queue}`)
    }
    if (model.log(queue, after.epoch, priority) !== undefined) {
      model.violated('an epoch is used once', `${after.epoch} in lane ${priority} of ${queue}`)
    }
    log = model.makeLog(queue, after.epoch, priority)
  }
  if (kept.some((entry, index) => entry !== after.tail[index])) {
    model.violated(
      'a sequence number never changes its item',
      `the tail of lane ${priority} of ${queue} was ${JSON.stringify(kept)} and is ${JSON.stringify(after.tail)}`,
    )
    return
  }
  for (let i = kept.length; i < after.tail.length; i += 1) {
    append(model, log as LaneLog, after.tail[i] as string)
  }
}

function withoutPrefix(model: Model, before: Lane, after: Lane): readonly string[] {
  let sealed = before.sealed
  let dropped = 0
  while (sealed < after.sealed && dropped < before.tail.length) {
    sealed += spanOf(before.tail[dropped] as string)
    dropped += 1
  }
  if (sealed !== after.sealed) {
    model.violated(
      'entries leave a tail as a prefix',
      `sealed moved from ${before.sealed} to ${after.sealed}, not to the edge of an entry`,
    )
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

/** The call that brings this, of those that go with the request. */
function pusherOf({ world }: Model, { operations }: PushedBy): Operation | undefined {
  const { operation, together = [] } = world.applying ?? {}
  return [...together, operation].find((one) => one !== undefined && operations.includes(one))
}

/** As it was asked for, by any clock that its push may have gone by. */
function checkItsExpiry(
  model: Model,
  { command, startedMs }: Operation,
  { text, expiresAtMs }: Item,
  at: string,
): void {
  const { world } = model
  const given = itemsIn(command).find((one) => one.text === text)
  const { expiresInSeconds } = given ?? {}
  const sinceMs = (expiresAtMs ?? Number.NaN) - 1_000 * (expiresInSeconds ?? 0)
  const isAsAsked =
    expiresInSeconds === undefined
      ? expiresAtMs === given?.expiresAtMs
      : sinceMs >= Math.floor(startedMs) - world.skewMaxMs &&
        sinceMs <= world.scheduler.nowMs + world.skewMaxMs
  if (!isAsAsked) model.violated('an item expires when it was asked to', `${text} at ${at}`)
}

function itemsIn(command: Command): readonly PushItem[] {
  switch (command.verb) {
    case 'push':
      return command.request.items
    case 'transact':
      return command.items
    case 'pushTransactItem':
      return [command.item]
    default:
      return []
  }
}

function appendItem(model: Model, log: LaneLog, entry: string): void {
  const item = decodeItem(entry)
  const record = model.ledger.item(item.text)
  const at = `${log.queue} lane ${log.priority} number ${log.places.length}`
  if (record === undefined) {
    model.violated('nothing is delivered that was not pushed', `${item.text} at ${at}`)
    return
  }
  const { operation } = model
  const { pushedBy } = record
  if (!record.appended) {
    record.appended = true
    pushedBy.appended += 1
    model.touchedPushes.add(pushedBy)
    model.pushed += 1
    const owner = pusherOf(model, pushedBy)
    if (owner === undefined) {
      model.violated('a push appends its own items', `${item.text} at ${at}`)
      return
    }
    model.noteEffect(`${item.text} was appended at ${at}`, owner)
    owner.effects.appended += 1
    checkItsExpiry(model, owner, item, at)
    if (owner !== operation) model.world.statistics.count('path push with others')
  } else {
    model.moved.add(record)
    // A push that finds no room may bury what it has just appended, where that was over from the start.
    const isBuried = item.moved !== undefined
    if (operation !== undefined && pushedBy.operations.includes(operation) && !isBuried) {
      model.violated('a push is carried out once', `${item.text} once more at ${at}`)
    }
    if (operation?.command.verb === 'move') noteMoved(model, log, operation, item.text)
    if (operation?.command.verb === 'redrive') {
      operation.effects.redriven += 1
      model.noteEffect(`${item.text} was redriven to ${at}`)
    }
  }
  record.live += 1
  model.touched.add(record)
  log.places.push({ entry, item, record, handouts: 0 })
}

function noteMoved(
  model: Model,
  { queue, epoch, priority, places }: LaneLog,
  { command, effects }: Operation,
  text: string,
): void {
  if (command.verb !== 'move') return
  const { queue: to = command.queue, priority: wanted = priority } = command.request
  if (to !== queue || wanted !== priority) {
    model.violated('an item is moved to where it was to go', `${text} to ${queue}, ${priority}`)
  }
  effects.movedTo.set(text, itemId({ epoch, priority, sequence: places.length }))
}
