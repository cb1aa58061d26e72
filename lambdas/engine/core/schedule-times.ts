import type { Schedule } from './schedule.ts'

/** The times at which a schedule is due: whole seconds. */
export type Times = {
  /** The first at this time or later. */
  from(ms: number): number | undefined
  /** The last ones before this time, at most `count`, newest first. */
  before(ms: number, count: number): readonly number[]
}

/** Counted from the base, so that delays do not add up, however late we push each one. */
export function intervalTimes(baseMs: number, everySeconds: number): Times {
  const everyMs = everySeconds * 1000
  return {
    from: (ms) => baseMs + Math.ceil((ms - baseMs) / everyMs) * everyMs,
    before(ms, count) {
      const last = baseMs + (Math.ceil((ms - baseMs) / everyMs) - 1) * everyMs
      return Array.from({ length: count }, (_, index) => last - index * everyMs)
    },
  }
}

/** The times that are not before the schedule starts, nor after it ends. */
export function withinBounds(
  times: Times,
  {
    startsAtMs = Number.NEGATIVE_INFINITY,
    endsAtMs = Number.POSITIVE_INFINITY,
  }: Pick<Schedule, 'startsAtMs' | 'endsAtMs'>,
): Times {
  return {
    from(ms) {
      const time = times.from(Math.max(ms, startsAtMs))
      return time === undefined || time > endsAtMs ? undefined : time
    },
    before: (ms, count) =>
      times.before(Math.min(ms, endsAtMs + 1), count).filter((time) => time >= startsAtMs),
  }
}
