import { contradictionsIn } from '../../../../cli/doctor/check-record.ts'
import { MARKS_KEPT } from '../../../../lambdas/engine/core/limits.ts'
import {
  isDone,
  type Lane,
  MARK_CHARACTERS,
  type QueueRecord,
} from '../../../../lambdas/engine/core/record.ts'
import { isPatient } from '../../../../lambdas/engine/core/timers.ts'

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
  const waited = [...locks].find(([, lock]) => !isDone(lock))
  if (waited === undefined) return
  const [lockId, { expiresAtMs }] = waited
  const what = `${queue}: ${checkAtMs} hides ${lockId}, ${expiresAtMs}`
  broken('a patient timer hides no prompt one', what)
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
  if (before.configuration.revision !== after.configuration.revision) return 'configuration'
  if (before.configuration.patternsRevision !== after.configuration.patternsRevision) {
    return 'configuration by patterns'
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

function laneChanged(before: Lane, after: Lane): string | undefined {
  for (const name of ['epoch', 'segmentSize', 'head', 'sealed', 'recalled', 'trimmed'] as const) {
    if (before[name] !== after[name]) return name
  }
  if (before.offloaded.from !== after.offloaded.from) return 'offloaded'
  if (before.offloaded.to !== after.offloaded.to) return 'offloaded'
  for (const name of ['holes', 'deliveries', 'dead'] as const) {
    if (before[name].length !== after[name].length) return name
  }
  return undefined
}
