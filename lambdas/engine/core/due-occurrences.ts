import { MISSED_AFTER_MS, MISSED_ALL_MAX } from './limits.ts'
import type { Schedule } from './schedule.ts'
import type { Times } from './schedule-times.ts'

export type DueOccurrences = {
  /** What is to be pushed now, in order; none where all that was due is skipped. */
  readonly dues: readonly number[]
  /** The occurrence behind them; none if they are the last. */
  readonly nextMs: number | undefined
}

export const isDue = ({ paused, nextMs, retryAtMs }: Schedule, nowMs: number): boolean =>
  !paused && nextMs !== undefined && nextMs <= nowMs && (retryAtMs ?? nowMs) <= nowMs

/**
 * What of a schedule is due, at most so many occurrences; nothing if nothing is. An occurrence that is late by a
 * few minutes is pushed as any other. What was missed before that goes by the schedule's own rule: `skip` drops it,
 * `one` pushes the last of it for all, `all` pushes each of the last thousand. An occurrence that a full queue kept
 * waiting was not missed.
 *
 * Every occurrence is later than the one before, whatever the clock says: so none is ever pushed twice.
 */
export function dueOccurrences(
  schedule: Schedule,
  times: Times,
  nowMs: number,
  occurrencesMax: number,
): DueOccurrences | undefined {
  if (!isDue(schedule, nowMs)) return undefined
  const missedBeforeMs = nowMs - MISSED_AFTER_MS
  const after = (ms: number): number | undefined =>
    times.from(schedule.missed === 'all' ? ms + 1 : Math.max(ms + 1, missedBeforeMs))
  const dues: number[] = []
  let next = firstOf(schedule, times, missedBeforeMs)
  while (next !== undefined && next <= nowMs && dues.length < occurrencesMax) {
    dues.push(next)
    next = after(next)
  }
  return { dues, nextMs: next }
}

function firstOf(
  { nextMs, missed, retryAtMs }: Schedule,
  times: Times,
  missedBeforeMs: number,
): number | undefined {
  if (nextMs === undefined || nextMs >= missedBeforeMs) return nextMs
  switch (missed) {
    case 'skip':
      return retryAtMs === undefined ? times.from(missedBeforeMs) : nextMs
    case 'one':
      return Math.max(nextMs, ...times.before(missedBeforeMs, 1))
    case 'all':
      return Math.max(nextMs, ...times.before(missedBeforeMs, MISSED_ALL_MAX).slice(-1))
    default:
      throw missed satisfies never
  }
}
