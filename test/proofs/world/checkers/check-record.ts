import { contradictionsIn } from '../../../../cli/doctor/check-record.ts'
import { receiptKey } from '../../../../engine/core/keys.ts'
import { MARKS_KEPT } from '../../../../engine/core/limits.ts'
import {
  isDone,
  isPatient,
  type Lane,
  MARK_CHARACTERS,
  type QueueRecord,
} from '../../../../engine/core/record.ts'
import type { Receipt } from '../../../../engine/core/repeated-pushes.ts'
import {
  decodeNote,
  isLongForgotten,
  movedSoFar,
  placesOf,
} from '../../../../engine/core/repeated-pushes.ts'
import { isRetry } from '../../../../engine/core/settling.ts'
import { transitionsOf } from '../../../../engine/core/views.ts'
import type { PopOutcome } from '../../../../engine/queues.ts'
import type { Asked } from './model.ts'
import type { Commit, Snapshot } from './snapshot.ts'

export type Broken = (rule: string, explanation: string) => void

/** What a record keeps by itself, after every write: as the doctor sees it, who must not call a sound queue ill. */
export function checkRecord(record: QueueRecord, broken: Broken): void {
  for (const why of contradictionsIn(record)) {
    broken('a record does not contradict itself', `${record.queue}: ${why}`)
  }
  checkTimer(record, broken)
}

/** A consumer may wait for each of these times, and Wake comes for no patient timer. */
function checkTimer({ queue, checkAtMs, locks }: QueueRecord, broken: Broken): void {
  if (checkAtMs === undefined || !isPatient(checkAtMs)) return
  for (const [lockId, lock] of locks) {
    if (isDone(lock)) continue
    const what = `${queue}: ${checkAtMs} hides ${lockId}, ${lock.expiresAtMs}`
    broken('a patient timer hides no prompt one', what)
  }
}

/** The fence: what changes the structure moves the version by one and leaves its mark. */
export function checkVersion(before: QueueRecord, after: QueueRecord, broken: Broken): void {
  if (after.born !== before.born) {
    broken('a queue is born once', `${after.queue}: ${before.born}, ${after.born}`)
  }
  if (after.version === before.version) {
    const changed = structureChanged(before, after)
    if (changed !== undefined) {
      broken('the version moves with the structure', `${after.queue}: ${changed} changed`)
    }
    return
  }
  if (after.version !== before.version + 1) {
    broken('the version strictly increases', `${before.version} to ${after.version}`)
  }
  const kept = before.marks.slice(-(MARKS_KEPT - 1) * MARK_CHARACTERS)
  const mark = after.marks.slice(kept.length)
  if (!after.marks.startsWith(kept) || mark.length !== MARK_CHARACTERS) {
    broken('each fenced write leaves its mark', `${before.marks} to ${after.marks}`)
  }
}

/** What only a fenced write may change; appends, claims and acknowledges touch the rest. */
function structureChanged(before: QueueRecord, after: QueueRecord): string | undefined {
  for (const name of ['revision', 'patternsRevision'] as const) {
    if (before.configuration[name] !== after.configuration[name]) return `configuration: ${name}`
  }
  if (before.marks !== after.marks) return 'marks'
  for (const priority of before.lanes.keys()) {
    if (!after.lanes.has(priority)) return `the presence of lane ${priority}`
  }
  for (const [priority, lane] of after.lanes) {
    const old = before.lanes.get(priority)
    const changed = old === undefined ? undefined : laneChanged(old, lane)
    if (changed !== undefined) return `${changed} of lane ${priority}`
  }
  for (const [lockId, lock] of before.locks) {
    const kept = after.locks.get(lockId)
    if (kept === undefined) return `the presence of lock ${lockId}`
    if (isDone(lock) && !isDone(kept)) return `the end of lock ${lockId}`
  }
  return undefined
}

const fixed = ['epoch', 'segmentSize', 'head', 'sealed', 'recalled', 'trimmed'] as const
const counted = ['holes', 'deliveries', 'dead'] as const

const laneChanged = (before: Lane, after: Lane): string | undefined =>
  fixed.find((name) => before[name] !== after[name]) ??
  (['from', 'to'] as const).find((end) => before.offloaded[end] !== after.offloaded[end]) ??
  counted.find((name) => before[name].length !== after[name].length)

/** A key is remembered by a note of the record, or by its receipt: at every moment, and with its places. */
export function checkNotes({ model, ...commit }: Commit): void {
  const [before, after] = [commit.before?.record, commit.after?.record]
  if (before === undefined) return
  const { statistics, scheduler, skewMaxMs } = model.world
  let left = 0
  for (const [hash, note] of before.notes) {
    const now = after?.notes.get(hash)
    if (now === note) continue
    if (now !== undefined) {
      statistics.count('path note got its number')
      if (now.slice(0, 34) !== note.slice(0, 34)) model.violated("a note stays its push's", note)
      continue
    }
    left += 1
    statistics.count('path note left')
    if (isLongForgotten(decodeNote(note), scheduler.nowMs + skewMaxMs)) continue
    const { pk, sk } = receiptKey(before.queue, hash)
    const receipt = model.rows.row(pk, sk) as Receipt | undefined
    const { bodyHash, places } = decodeNote(note)
    if (receipt?.hash !== bodyHash || receipt.places?.length !== places.size) {
      const what = JSON.stringify(receipt) ?? 'missing'
      model.violated('a key is remembered', `${note} has left, its receipt is ${what}`)
    }
  }
  if (after === undefined) return
  if (movedSoFar(after.moved) !== movedSoFar(before.moved) + left) {
    model.violated('notes that leave are counted', `${left} left`)
  }
  for (const [hash, note] of after.notes) {
    if (!before.notes.has(hash)) statistics.count('path note made')
    if (placesOf(after, decodeNote(note)).size < decodeNote(note).places.size) {
      model.violated('a note tells the places', note)
    }
  }
}

/** The marks that events are made of, by the record before and after a write. */
export function checkMarks(commit: Commit): void {
  const { model, queue, queueModel, before, after } = commit
  if (after === undefined) {
    queueModel.silence = undefined
    return
  }
  const say = (rule: string, what = ''): void => model.violated(rule, `${queue} ${what}`)
  const was = before?.record
  const { dry, notable, born, checkAtMs } = after.record
  const hasFree = after.hasFree()
  const silent = !dry && !hasFree
  if (dry && hasFree) say('dry: nothing is free')
  if (hasFree && checkAtMs === undefined) say('what waits has a timer')
  if (!was && hasFree && !notable) say('every transition wakes the stream', 'has its first items')
  checkReminder(commit, after, hasFree)
  if (silent && !was) say('a record without items is dry')
  if (silent && was?.dry && was.born === born) say('a dry queue stays marked until something comes')
  if (was !== undefined && queueModel.silence === undefined) {
    const wakes = was.dry || dry || notable || was.born !== born
    const [missed] = wakes ? [] : transitionsOf(was, after.record)
    if (missed) say('every transition wakes the stream', missed.kind)
  }
  if (!silent) queueModel.silence = undefined
  else queueModel.silence ??= { sinceCommit: model.commits, by: model.operation }
}

/** The sweeper announces a queue again only if a consumer could take something and none has. */
function checkReminder({ model, before }: Commit, { record }: Snapshot, hasFree: boolean): void {
  const last = before?.record.reminder
  const { reminder, queue } = record
  if (reminder === undefined || reminder.times === 0 || reminder.sinceMs === last?.sinceMs) return
  model.world.statistics.count('path announced again')
  if (!hasFree) model.violated('what is announced again is there', queue)
  const isHeld = [...record.locks.values()].some((lock) => !isDone(lock) && !isRetry(lock))
  if (isHeld) model.violated('a queue at work is not announced again', queue)
  if (model.operation?.command.verb === 'announceWaiting') return
  let taken = 0
  for (const { frontier } of record.lanes.values()) taken += frontier
  if (last?.taken !== taken) model.violated('only what nobody takes is announced again', queue)
}

/**
 * A queue with nothing to pop needs its mark, or the next push would be no event. The call that empties a
 * queue sets the mark before it answers, and so does a call that finds the mark missing.
 */
export function checkLeftDry(asked: Asked, outcome: PopOutcome | undefined): void {
  const { model, operation, queueModel, say } = asked
  const { silence, queue } = queueModel
  if (silence === undefined) return
  const found = outcome?.kind === 'empty' && silence.sinceCommit <= operation.startedAtCommit
  if (found) say('who finds nothing leaves the mark', queue)
  if (silence.by?.id !== operation.id) return
  // The mark may fail after the answer is certain; a pop says then that one should ask again.
  const admitted = outcome?.kind === 'items' ? outcome.more : !model.world.faultFree
  if (!admitted) say('who takes the last leaves the mark', queue)
}
