import { QueueError } from '../../foundation/errors.ts'
import { looksLikeSeconds } from '../../foundation/shared/epoch.ts'

/** Refuses what cannot be a time in milliseconds; `field` is its name over HTTP. */
export function checkMs(ms: number, field: string): void {
  if (!Number.isFinite(ms)) throw noTime(`${field} must be a time, in code in milliseconds`, field)
  if (!looksLikeSeconds(ms)) return
  throw noTime(`${field} takes milliseconds in code, and ${ms} looks like seconds`, field)
}

const noTime = (message: string, field: string): QueueError =>
  new QueueError('INVALID_PARAMETER', message, { field })
