import { FORGET_AFTER_MS } from '../../../../lambdas/engine/core/limits.ts'
import { isDone } from '../../../../lambdas/engine/core/record.ts'
import { checkTail } from './check-append.ts'
import { noteConfiguration } from './check-configuration.ts'
import { checkLimit } from './check-limits.ts'
import { checkMarks } from './check-marks.ts'
import { checkNotes } from './check-notes.ts'
import { checkRecord } from './check-record.ts'
import { checkReturning } from './check-returning.ts'
import { checkSettling } from './check-settling.ts'
import { checkTaking } from './check-taking.ts'
import { checkVersion } from './check-version.ts'
import { countPaths } from './count-paths.ts'
import { changeOfLane, type LaneChange } from './lane-view.ts'
import type { Model, QueueModel } from './model.ts'
import { noteLocks } from './note-locks.ts'
import { noteScheduledInRecord } from './note-scheduled.ts'
import type { Snapshot, Write } from './snapshot.ts'

/** Judges one write to a queue record by the record before and after it. */
export function checkChange(
  model: Model,
  queueModel: QueueModel,
  before: Snapshot | undefined,
  after: Snapshot | undefined,
): void {
  const { queue } = queueModel
  const broken = (rule: string, explanation: string): void => model.violated(rule, explanation)
  const { pushed } = model
  noteScheduledInRecord(model, queueModel, before, after)
  countPaths(model, queueModel, before, after)
  checkMarks(model, queueModel, before, after)
  checkNotes(model, before?.record, after?.record)
  if (after === undefined) {
    if (before !== undefined) checkForgotten(model, before)
    return
  }
  if (before === undefined) {
    if (after.record.version !== 1) broken('a new record has version 1', queue)
    queueModel.births += 1
  } else {
    checkVersion(before.record, after.record, broken)
  }
  for (const [priority, lane] of after.record.lanes) {
    checkTail(model, queue, priority, before?.record.lanes.get(priority), lane)
  }
  if (before !== undefined && model.pushed !== pushed) {
    checkLimit(model, before, 'pushLimit', model.operation)
  }
  if (before !== undefined) checkItems({ model, queue, before, after })
  noteConfiguration(model, before, after)
  noteLocks(model, queueModel, before, after)
  checkRecord(after.record, broken)
  notePointers(model, queue, before, after)
}

function checkItems(write: Write): void {
  const { model, queue, before, after } = write
  const sameLocks = before.stored.K === after.stored.K && before.stored.F === after.stored.F
  const changes: LaneChange[] = []
  for (const [priority, lane] of before.record.lanes) {
    const stored = after.stored.L[priority]
    if (sameLocks && stored === before.stored.L[priority]) continue
    if (sameLocks && stored !== undefined && onlyTailDiffers(before.stored.L[priority], stored)) {
      continue
    }
    const view = before.view(priority)
    if (view === undefined) continue
    const kept = after.record.lanes.get(priority)?.epoch === lane.epoch
    const change = changeOfLane(priority, view, kept ? after.view(priority) : undefined)
    changes.push(change)
    const log = model.log(queue, lane.epoch, priority)
    if (log !== undefined) checkSettling(write, change, log)
    checkReturning(write, change)
  }
  checkTaking(write, changes)
}

type StoredLane = Snapshot['stored']['L'][string]

function onlyTailDiffers(a: StoredLane | undefined, b: StoredLane): boolean {
  return (
    a !== undefined &&
    a.e === b.e &&
    a.h === b.h &&
    a.f === b.f &&
    a.s === b.s &&
    a.k === b.k &&
    a.d === b.d &&
    a.q === b.q
  )
}

function checkForgotten(model: Model, { record }: Snapshot): void {
  const { queue } = record
  if (record.configuration.revision > 0) {
    model.violated('a configured queue is kept', queue)
  }
  if ([...record.locks.values()].some((lock) => !isDone(lock))) {
    model.violated('a queue with live locks is kept', queue)
  }
  if (record.scheduled.items > 0 || record.scheduled.purged.length > 0) {
    model.violated(
      'only an empty queue is forgotten',
      `${queue} has scheduled items, or their rows`,
    )
  }
  const { operation } = model
  if (operation !== undefined && operation.clockMaxMs < record.lastEndedMs + FORGET_AFTER_MS) {
    model.violated(
      'ended locks are remembered for a while',
      `${queue} was forgotten ${operation.clockMaxMs - record.lastEndedMs} ms after a lock had ended`,
    )
  }
  for (const [priority, lane] of record.lanes) {
    if (lane.head < lane.sealed || lane.tail.length > 0) {
      model.violated('only an empty queue is forgotten', `${queue} has lane ${priority}`)
    }
  }
}

/** Items that were sealed, offloaded or recalled must now be readable in another place. */
function notePointers(
  model: Model,
  queue: string,
  before: Snapshot | undefined,
  after: Snapshot,
): void {
  for (const [priority, lane] of after.record.lanes) {
    if (before?.stored.L[priority] === after.stored.L[priority]) continue
    const old = before?.record.lanes.get(priority)
    if (old === undefined || old.epoch !== lane.epoch) continue
    const log = model.log(queue, lane.epoch, priority)
    if (log === undefined) continue
    const size = lane.segmentSize
    const moved: [number, number][] = [
      [old.sealed, lane.sealed],
      [old.offloaded.to * size, lane.offloaded.to * size],
      [old.offloaded.from * size, lane.offloaded.from * size],
      [old.recalled * size, lane.recalled * size],
    ]
    for (const [a, b] of moved) if (a !== b) model.mustRead(log, Math.min(a, b), Math.max(a, b))
  }
}
