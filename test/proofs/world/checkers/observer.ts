import { queueOfRecordKey } from '../../../../lambdas/engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { SimulatedRequest } from '../../../../testing/simulated/simulated-store.ts'
import { featuresIn, featuresOf } from '../harness/crossings.ts'
import { noteAvailability } from './availability.ts'
import { checkChange } from './check-change.ts'
import { notePatterns } from './check-configuration.ts'
import { isSlotOf, noteSlot } from './check-limits.ts'
import { checkReadable } from './check-readable.ts'
import { noteSeats } from './check-waiting.ts'
import type { Model, QueueModel } from './model.ts'
import { isBatchScheduled, judgeScheduled, noteScheduledRow } from './note-scheduled.ts'
import { Snapshot } from './snapshot.ts'

/** Feeds the model: with every changed row, and with the end of every request. */
export function observeChange(model: Model, change: Change): void {
  if (!change.pk.startsWith('q#')) {
    noteSeats(model, change)
    model.rows.apply(change)
    notePatterns(model, change)
    const { operation } = model
    if (operation !== undefined && change.pk.startsWith('b#')) {
      if (change.newItem !== undefined) model.batchWriters.set(change.pk, operation)
    }
    if (operation !== undefined && isSlotOf(operation, change)) {
      // A batch takes one slot for all of its pushes.
      for (const one of new Set([operation, ...(model.world.applying?.together ?? [])])) {
        noteSlot(one, change)
      }
    }
    if (change.newItem === undefined) noteDeletedRow(model, change.pk, change.sk)
    if (change.pk.startsWith('t#')) noteScheduledRow(model, change)
    return
  }
  const queueModel = model.queue(queueOfRecordKey(change.pk))
  model.commits += 1
  const before = queueModel.current
  const after = change.newItem === undefined ? undefined : new Snapshot(change.newItem)
  queueModel.current = after
  model.changed.add(queueModel)
  const { operation } = model
  const { queue } = queueModel
  const command = operation?.command.queue === queue ? operation.command : undefined
  checkChange({ model, queue, queueModel, operation, command, before, after })
  noteCrossings(model, queueModel)
  if (after === undefined || !after.hasFree()) queueModel.freeSinceCommit = undefined
  else if (queueModel.freeSinceCommit === undefined) {
    queueModel.freeSinceCommit = model.commits
    queueModel.freeSinceMs = model.world.scheduler.nowMs
  }
}

export function observeRequest(model: Model, request: SimulatedRequest): void {
  if (request.service === 's3') {
    noteDeletedObjects(model, request)
    const { operation } = model
    const { Key } = request.input as { readonly Key?: string }
    if (request.name === 'PutObjectCommand' && operation)
      model.batchWriters.set(`${Key}`, operation)
  }
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

/** Checks everything that is stored. */
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
  for (const { text, live, appended } of model.touched) {
    const { came, left } = model.ledger.schedules.get(text) ?? { came: 1, left: 0 }
    if (live > came - left) model.violated('an item is in one place', `${text} is in ${live}`)
    if (live < 0) model.violated('an item leaves once', text)
    if (!appended) model.violated('only what was appended leaves', text)
  }
  for (const { text, live, fate } of model.moved) {
    const { came, left } = model.ledger.schedules.get(text) ?? { came: 1, left: 0 }
    if (live !== came - left && fate === undefined) {
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

function noteCrossings({ world, operation }: Model, { queue, current }: QueueModel): void {
  const acting = operation === undefined ? [] : featuresOf(operation)
  const there = current === undefined ? [] : featuresIn(current.record)
  for (const feature of [...acting, ...there]) world.crossings.note(queue, feature)
}

/** Notes which items must still be readable after a row or an object was deleted. */
function noteDeletedRow(model: Model, pk: string, sk: string): void {
  const [kind, queue, ...rest] = pk.split('#') as [string, string, ...string[]]
  if (kind === 's') noteSegment(model, queue, rest)
  else if (kind === 'b') noteBatchPart(model, queue, rest[0] as string, Number(sk))
}

function noteDeletedObjects(model: Model, { name, input }: SimulatedRequest): void {
  if (name !== 'DeleteObjectsCommand') return
  const { Delete } = input as { Delete: { Objects: readonly { Key: string }[] } }
  for (const { Key } of Delete.Objects) {
    const [queue, ...rest] = Key.split('/') as [string, ...string[]]
    if (rest[0] === 'batch') noteBatchPart(model, queue, rest[1] as string, undefined)
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
function noteBatchPart(model: Model, queue: string, batch: string, part: number | undefined): void {
  if (isBatchScheduled(model.queue(queue), batch)) {
    model.violated('every pointer has its object', `scheduled items of ${queue} lie in ${batch}`)
  }
  const appended = model.batch(queue, batch)
  if (appended === undefined) return
  const { log, start, reference } = appended
  const { count, partItems } = reference
  const from = part === undefined ? start : start + part * partItems
  const to = part === undefined ? start + count : Math.min(from + partItems, start + count)
  model.mustRead(log, from, to)
}
