import { FORGET_AFTER_MS } from '../../../../engine/core/limits.ts'
import { isDone, type Lane } from '../../../../engine/core/record.ts'
import { checkTail } from './check-arrival.ts'
import { checkLimit, noteConfiguration } from './check-configuration.ts'
import { noteLocks } from './check-locks.ts'
import { checkMarks, checkNotes, checkRecord, checkVersion } from './check-record.ts'
import { checkReturning } from './check-returning.ts'
import { checkSettling } from './check-settling.ts'
import { checkTaking } from './check-taking.ts'
import type { Model } from './model.ts'
import { noteScheduledInRecord } from './note-scheduled.ts'
import {
  type Commit,
  changeOfLane,
  type LaneChange,
  type Put,
  type Snapshot,
  type Write,
} from './snapshot.ts'

/** Judges one write to a queue record by the record before and after it. */
export function checkChange(commit: Commit): void {
  const { model, queue, queueModel, before, after } = commit
  const { pushed } = model
  noteScheduledInRecord(commit)
  countSteps(commit)
  checkMarks(commit)
  checkNotes(commit)
  if (after === undefined) {
    if (before !== undefined) checkForgotten(model, before)
    return
  }
  const put = { ...commit, after }
  const broken = (rule: string, explanation: string): void => model.violated(rule, explanation)
  if (before !== undefined) checkVersion(before.record, after.record, broken)
  else {
    if (after.record.version !== 1) broken('a new record has version 1', queue)
    queueModel.births += 1
  }
  for (const [priority, lane] of after.record.lanes) checkTail(put, priority, lane)
  if (before !== undefined) {
    if (model.pushed !== pushed) checkLimit(model, before, 'pushLimit')
    checkItems({ ...put, before })
  }
  noteConfiguration(put)
  noteLocks(put)
  checkRecord(after.record, broken)
  notePointers(put)
}

function checkItems(write: Write): void {
  const { model, queue, before, after } = write
  const sameLocks = before.stored.K === after.stored.K && before.stored.F === after.stored.F
  const changes: LaneChange[] = []
  for (const [priority, lane] of before.record.lanes) {
    const [was, is] = [before.stored.L[priority], after.stored.L[priority]]
    if (sameLocks && (was === is || (was && is && onlyTailDiffers(was, is)))) continue
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

const onlyTailDiffers = (a: Snapshot['stored']['L'][string], b: typeof a): boolean =>
  (['e', 'h', 'f', 's', 'k', 'd', 'q'] as const).every((name) => a[name] === b[name])

function checkForgotten(model: Model, { record }: Snapshot): void {
  const { queue, configuration, locks, scheduled, lanes, lastEndedMs } = record
  const say = (rule: string, what = ''): void => model.violated(rule, `${queue} ${what}`)
  if (configuration.revision > 0) say('a configured queue is kept')
  if ([...locks.values()].some((lock) => !isDone(lock))) say('a queue with live locks is kept')
  if (scheduled.items > 0 || scheduled.purged.length > 0) {
    say('only an empty queue is forgotten', 'has scheduled items, or their rows')
  }
  const afterMs = (model.operation?.clockMaxMs ?? Number.POSITIVE_INFINITY) - lastEndedMs
  if (afterMs < FORGET_AFTER_MS) {
    say('ended locks are remembered for a while', `was forgotten ${afterMs} ms after the last`)
  }
  for (const [priority, lane] of lanes) {
    if (lane.head === lane.sealed && lane.tail.length === 0) continue
    say('only an empty queue is forgotten', `has lane ${priority}`)
  }
}

/** Items that were sealed, offloaded or recalled must now be readable in another place. */
function notePointers({ model, queue, before, after }: Put): void {
  for (const [priority, lane] of after.record.lanes) {
    if (before?.stored.L[priority] === after.stored.L[priority]) continue
    const old = before?.record.lanes.get(priority)
    const log = model.log(queue, lane.epoch, priority)
    if (old?.epoch !== lane.epoch || log === undefined) continue
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

/** What the engine does inside a lane, which no crossing of features shows. */
const steps = Object.entries<(lane: Lane, old: Lane) => boolean>({
  seal: (lane, old) => lane.sealed > old.sealed && lane.sealed > lane.head,
  offload: (lane, old) => lane.offloaded.to > old.offloaded.to,
  recall: (lane, old) => lane.recalled > old.recalled,
  trim: (lane, old) => lane.trimmed > old.trimmed,
  hole: (lane, old) => lane.holes.length > old.holes.length,
  'hole ahead of the frontier': (lane) => (lane.holes.at(-1)?.to ?? 0) > lane.frontier,
  buried: (lane, old) => lane.dead.length > old.dead.length,
  'dead moved away': (lane, old) => lane.dead.length < old.dead.length,
  'deliveries counted': (lane, old) => lane.deliveries.length > old.deliveries.length,
})

export function countSteps({ model, queueModel, before, after }: Commit): void {
  const { statistics } = model.world
  const count = (name: string): void => statistics.count(`path ${name}`)
  if (after === undefined) count('record forgotten')
  else if (before === undefined) count(`record made${queueModel.births > 0 ? ' again' : ''}`)
  if (before === undefined || after === undefined) return
  const isFenced = after.record.version > before.record.version
  if (after.record.appends > before.record.appends)
    count(isFenced ? 'append under the fence' : 'append')
  if (after.record.locks.size > before.record.locks.size) {
    count(isFenced ? 'lock under the fence' : 'claim')
  }
  for (const [priority, lane] of after.record.lanes) {
    const old = before.record.lanes.get(priority)
    if (old === undefined || before.stored.L[priority] === after.stored.L[priority]) continue
    for (const [name, isTaken] of steps) if (isTaken(lane, old)) count(name)
  }
}
