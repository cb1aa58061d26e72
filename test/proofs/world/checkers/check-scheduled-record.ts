import { dueOfRow, scheduledBytes } from '../../../../lambdas/engine/core/scheduled.ts'
import type { Model, QueueModel } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** What the record says of its scheduled items: how many, how large, when the first is due, which rows are new. */
export function checkScheduledRecord(
  model: Model,
  { queue, scheduled }: QueueModel,
  { record }: Snapshot,
): void {
  const { entries, items, bytes, nextDue, unseen } = record.scheduled
  const say = (rule: string, what: string) => model.violated(rule, `${queue}: ${what}`)
  if (items !== scheduled.count) {
    say('counts equal a recount', `${items} scheduled, a recount gives ${scheduled.count}`)
  }
  const recounted = entries.reduce((sum, entry) => sum + scheduledBytes(entry), 0)
  if (bytes !== recounted) {
    say('counts equal a recount', `${bytes} scheduled bytes, a recount gives ${recounted}`)
  }
  let [first, firstInRows] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const rows = new Set<string>()
  for (const { due, row } of scheduled.groups.values()) {
    first = Math.min(first, due)
    if (row === undefined) continue
    rows.add(row)
    firstInRows = Math.min(firstInRows, due)
  }
  if ((nextDue ?? Number.POSITIVE_INFINITY) > firstInRows) {
    say('the earliest row is known', `${firstInRows}, and the record says ${nextDue}`)
  }
  for (const sk of unseen) {
    if (!rows.has(sk)) say('a row that the record names is there', `${dueOfRow(sk)} ${sk}`)
  }
  if (first === Number.POSITIVE_INFINITY) return
  const { nowMs } = model.world.scheduler
  const isAhead = 1_000 * first > nowMs + model.world.skewMaxMs
  const { checkAtMs = Number.POSITIVE_INFINITY } = record
  if (isAhead ? checkAtMs > 1_000 * first : checkAtMs === Number.POSITIVE_INFINITY) {
    say('what is due has its timer', `${first}, and the timer is at ${checkAtMs}`)
  }
}
