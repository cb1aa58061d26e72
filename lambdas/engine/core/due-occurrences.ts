import { MISSED_AFTER_MS, MISSED_ALL_MAX } from './limits.ts'
import type { Schedule } from './schedule.ts'
import type { Times } from './schedule-times.ts'

export type DueOccurrences = {
  /** The occurrences to push now, in order; empty if the schedule skips all that were due. */
  readonly dues: readonly number[]
  /** The occurrence after them; undefined if they are the last. */
  readonly nextMs: number | undefined
}

export const isDue = ({ paused, nextMs, retryAtMs }: Schedule, nowMs: number): boolean =>
  !paused && nextMs !== undefined && nextMs <= nowMs && (retryAtMs ?? nowMs) <= nowMs

/**
 * The due occurrences of a schedule, up to a maximum; undefined if none is due. An occurrence that waited (mostly for
 * room) does not count as missed, however old it is. We push one that is a few minutes late like any other. If the
 * first is older than that, the schedule's own rule says where to go on.
 *
 * Every occurrence is later than the one before, whatever the clock says, so we never push one twice.
 */
export function dueOccurrences(
  schedule: Schedule,
  times: Times,
  nowMs: number,
  occurrencesMax: number,
): DueOccurrences | undefined {
  if (!isDue(schedule, nowMs) || schedule.nextMs === undefined) return undefined
  const dues: number[] = []
  let next: number | undefined = schedule.nextMs
  if (schedule.retryAtMs !== undefined) {
    dues.push(next)
    next = times.from(next + 1)
  }
  if (next !== undefined && next < nowMs - MISSED_AFTER_MS) {
    next = firstKept(schedule, times, next, nowMs)
  }
  while (next !== undefined && next <= nowMs && dues.length < occurrencesMax) {
    dues.push(next)
    next = times.from(next + 1)
  }
  return { dues, nextMs: next }
}

/**
 * The first to push of this occurrence and those after it. `skip` drops the missed ones, `one` pushes the last of
 * all that are due, `all` pushes each of the last thousand.
 */
function firstKept(
  { missed }: Pick<Schedule, 'missed'>,
  times: Times,
  missedMs: number,
  nowMs: number,
): number | undefined {
  const missedBeforeMs = nowMs - MISSED_AFTER_MS
  switch (missed) {
    case 'skip':
      return times.from(missedBeforeMs)
    case 'one':
      return Math.max(missedMs, ...times.before(nowMs + 1, 1))
    case 'all':
      return Math.max(missedMs, ...times.before(missedBeforeMs, MISSED_ALL_MAX).slice(-1))
    default:
      throw missed satisfies never
  }
}
