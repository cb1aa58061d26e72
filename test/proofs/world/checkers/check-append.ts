import {
  decodeItem,
  decodeReference,
  isReference,
  spanOf,
} from '../../../../lambdas/engine/core/entry.ts'
import type { Lane } from '../../../../lambdas/engine/core/record.ts'
import { noteInLane } from './check-arrival.ts'
import type { LaneLog } from './lane-view.ts'
import type { Model } from './model.ts'
import { batchEntries } from './rows.ts'

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
    const what = `the tail of lane ${priority} of ${queue} was ${kept.join()} and is ${after.tail.join()}`
    model.violated('a sequence number never changes its item', what)
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
  log.places.push({ entry, item, record, sinceMs, handouts: 0 })
}
