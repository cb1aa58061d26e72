// Times as callers give them: a Date, or a number of milliseconds. The wire has seconds.

import { PushPopError } from './errors.ts'

/**
 * As milliseconds these are times from 1970 to 1973, which nobody means; as seconds they reach from 1973 to 5138. The
 * service would take each for a time in the past: now, or over already.
 */
const looksLikeSeconds = (ms: number): boolean => ms >= 1e8 && ms < 1e11

/** In seconds. Refuses what is no time, and names it. */
export function secondsOf(field: string, time: Date | number | undefined): number | undefined {
  if (time === undefined) return undefined
  const ms = time instanceof Date ? time.getTime() : time
  if (typeof ms !== 'number' || !Number.isFinite(ms)) throw noTime(field, `is ${String(time)}`)
  if (looksLikeSeconds(ms)) throw noTime(field, `${ms} looks like seconds`)
  return ms / 1_000
}

const noTime = (field: string, given: string): PushPopError =>
  new PushPopError(
    'INVALID_PARAMETER',
    `${field} must be a Date or milliseconds since 1970, and ${given}`,
    { field },
  )
