// Times as callers give them: a Date, or a number of milliseconds. The wire has seconds.

import { looksLikeSeconds } from '../lambdas/foundation/shared/epoch.ts'
import { PushPopError } from './errors.ts'

/** The time in seconds. Refuses a value that is not a time; the error names the field. */
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
