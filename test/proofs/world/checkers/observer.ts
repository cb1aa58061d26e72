import { queueOfRecordKey } from '../../../../engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { SimulatedRequest } from '../../../../testing/simulated/store.ts'
import { featuresIn, featuresOf } from '../harness/crossings.ts'
import { noteAvailability } from './availability.ts'
import { checkChange } from './check-change.ts'
import { isSlotOf, notePatterns, noteSlot } from './check-configuration.ts'
import { checkReadable } from './check-readable.ts'
import { noteSeats } from './check-waiting.ts'
import type { Model } from './model.ts'
import { isBatchScheduled, judgeScheduled, noteScheduledRow } from './note-scheduled.ts'
import { Snapshot } from './snapshot.ts'

/** Feeds the model: with every changed row, and with the end of every request. */
export function observeChange(model: Model, change: Change): void {
  if (change.pk.startsWith('q#')) observeRecord(model, change)
  else observeRow(model, change)
}

function observeRow(model: Model, change: Change): void {
  const { pk, sk, newItem } = change
  const { operation, world } = model
  noteSeats(model, change)
  model.rows.apply(change)
  notePatterns(model, change)
  const [kind = '', queue = '', ...rest] = pk.split('#')
  if (operation !== undefined && kind === 'b' && newItem !== undefined) {
    model.batchWriters.set(pk, operation)
  }
  if (operation !== undefined && isSlotOf(operation, change)) {
    // A batch takes one slot for all of its pushes.
    for (const one of new Set([operation, ...(world.applying?.together ?? [])])) {
      noteSlot(one, change)
    }
  }
  if (newItem === undefined && kind === 's') noteSegment(model, queue, rest)
  if (newItem === undefined && kind === 'b') noteBatchPart(model, queue, rest[0], Number(sk))
  if (kind === 't') noteScheduledRow(model, change)
}

function observeRecord(model: Model, { pk, newItem }: Change): void {
  const queueModel = model.queue(queueOfRecordKey(pk))
  const { queue, current: before } = queueModel
  const { operation, world } = model
  model.commits += 1
  const after = newItem === undefined ? undefined : new Snapshot(newItem)
  queueModel.current = after
  model.changed.add(queueModel)
  const command = operation?.command.queue === queue ? operation.command : undefined
  checkChange({ model, queue, queueModel, operation, command, before, after })
  const acting = operation === undefined ? [] : featuresOf(operation)
  const there = after === undefined ? [] : featuresIn(after.record)
  for (const feature of [...acting, ...there]) world.crossings.note(queue, feature)
  if (after === undefined || !after.hasFree()) queueModel.freeSinceCommit = undefined
  else if (queueModel.freeSinceCommit === undefined) {
    queueModel.freeSinceCommit = model.commits
    queueModel.freeSinceMs = world.scheduler.nowMs
  }
}

export function observeRequest(model: Model, request: SimulatedRequest): void {
  if (request.service === 's3') observeObjects(model, request)
  for (const [log, ranges] of model.toRead) {
    const lane = model.queue(log.queue).current?.record.lanes.get(log.priority)
    if (lane?.epoch === log.epoch) checkReadable({ model, log, lane }, ranges)
  }
  model.toRead.clear()
  for (const queueModel of model.changed) {
    judgeScheduled(model, queueModel)
    noteAvailability(model, queueModel)
  }
  model.changed.clear()
  judgeTouched(model)
}

export function checkAllReadable(model: Model): void {
  for (const { queue, current } of model.queues()) {
    for (const [priority, lane] of current?.record.lanes ?? []) {
      const log = model.log(queue, lane.epoch, priority)
      const all = [{ from: 0, to: log?.places.length ?? 0 }]
      if (log !== undefined) checkReadable({ model, log, lane }, all)
    }
  }
}

function judgeTouched(model: Model): void {
  if (model.touched.size + model.moved.size + model.touchedPushes.size === 0) return
  const placesOf = (text: string): number => {
    const { came, left } = model.ledger.schedules.get(text) ?? { came: 1, left: 0 }
    return came - left
  }
  for (const { text, live, appended } of model.touched) {
    if (live > placesOf(text)) model.violated('an item is in one place', `${text} is in ${live}`)
    if (live < 0) model.violated('an item leaves once', text)
    if (!appended) model.violated('only what was appended leaves', text)
  }
  for (const { text, live, fate } of model.moved) {
    if (live !== placesOf(text) && fate === undefined) {
      model.violated('every push is delivered, dead-lettered, purged or stored', `${text} is lost`)
    }
  }
  for (const { texts, appended } of model.touchedPushes) {
    if (appended !== texts.length) {
      model.violated('a bulk push is all or nothing', `${appended} of ${texts.length}`)
    }
  }
  model.touched.clear()
  model.moved.clear()
  model.touchedPushes.clear()
}

/** Notes who wrote an object, and which items must still be readable after some were deleted. */
function observeObjects(model: Model, { name, input }: SimulatedRequest): void {
  const { Key, Delete } = input as { Key?: string; Delete?: { Objects: { Key: string }[] } }
  if (name === 'PutObjectCommand' && model.operation) {
    model.batchWriters.set(`${Key}`, model.operation)
  }
  for (const deleted of Delete?.Objects ?? []) {
    const [queue = '', ...rest] = deleted.Key.split('/')
    if (rest[0] === 'batch') noteBatchPart(model, queue, rest[1])
    else noteSegment(model, queue, rest)
  }
}

function noteSegment(model: Model, queue: string, rest: readonly string[]): void {
  const [epoch = '', priority, segment] = [rest[0], Number(rest[1]), Number(rest[2])]
  const lane = model.queue(queue).current?.record.lanes.get(priority)
  const log = model.log(queue, epoch, priority)
  if (log === undefined || lane?.epoch !== epoch) return
  model.mustRead(log, segment * lane.segmentSize, (segment + 1) * lane.segmentSize)
}

/** Without a part: all of the batch. */
function noteBatchPart(model: Model, queue: string, batch = '', part?: number): void {
  if (isBatchScheduled(model.queue(queue), batch)) {
    model.violated('every pointer has its object', `scheduled items of ${queue} lie in ${batch}`)
  }
  const appended = model.batch(queue, batch)
  if (appended === undefined) return
  const { log, start, reference } = appended
  const { count, partItems } = reference
  const from = start + (part ?? 0) * partItems
  const to = part === undefined ? start + count : Math.min(from + partItems, start + count)
  model.mustRead(log, from, to)
}
