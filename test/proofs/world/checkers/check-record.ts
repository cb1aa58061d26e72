import { contradictionsIn } from '../../../../cli/doctor/check-record.ts'
import { isDone, type QueueRecord } from '../../../../lambdas/engine/core/record.ts'
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
  broken(
    'a patient timer hides no prompt one',
    `${queue}: ${checkAtMs} hides ${lockId}, ${expiresAtMs}`,
  )
}
