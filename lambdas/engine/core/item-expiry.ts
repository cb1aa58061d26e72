import { QueueError } from '../../foundation/errors.ts'
import { ITEM_TTL_SECONDS_MAX } from './limits.ts'
import type { PushItem } from './push-request.ts'
import { checkMs } from './time-in-ms.ts'

// The expiry that an item is pushed with.

type Given = Pick<PushItem, 'expiresInSeconds' | 'expiresAtMs' | 'sinceMs'>

/** Larger than any date. */
const TIME_MS_MAX = 8_640_000_000_000_000

/** Refuses an invalid expiry, naming the field; `at`: where the item is in a request, `items[3].`. */
export function checkExpiry({ expiresInSeconds, expiresAtMs }: Given, at: string): void {
  if (expiresInSeconds === undefined) {
    if (expiresAtMs === undefined) return
    checkMs(expiresAtMs, `${at}expires_at`)
    if (expiresAtMs >= 0 && expiresAtMs <= TIME_MS_MAX) return
    throw invalid(`${at}expires_at`, 'must be a time since 1970')
  }
  if (expiresAtMs !== undefined) {
    throw invalid(`${at}expires_at`, `cannot be given together with ${at}expires_in_seconds`)
  }
  const isWhole = Number.isInteger(expiresInSeconds)
  if (isWhole && expiresInSeconds >= 0 && expiresInSeconds <= ITEM_TTL_SECONDS_MAX) return
  throw invalid(`${at}expires_in_seconds`, `must be an integer from 0 to ${ITEM_TTL_SECONDS_MAX}`)
}

/** When it expires. A time in the past means now: the item is stored, and no pop returns it. */
export const expiresAtMsOf = (
  { expiresInSeconds, expiresAtMs, sinceMs }: Given,
  nowMs: number,
): number | undefined =>
  expiresInSeconds === undefined
    ? expiresAtMs && Math.floor(expiresAtMs)
    : (sinceMs ?? nowMs) + 1_000 * expiresInSeconds

/** Refuses an item that expires before it is due: no pop could ever return it. */
export function checkOutlasts(item: Given, dueMs: number, nowMs: number, at: string): void {
  const expiresAtMs = expiresAtMsOf(item, nowMs)
  if (expiresAtMs === undefined || expiresAtMs > dueMs) return
  throw item.expiresInSeconds === undefined
    ? invalid(`${at}expires_at`, 'must be later than the time at which the item is due')
    : invalid(`${at}expires_in_seconds`, 'must reach beyond the time at which the item is due')
}

/** The expiry as the caller gave it, so that a repeated push has the same text, however late it comes. */
export const expiryText = ({ expiresInSeconds, expiresAtMs }: Given): readonly string[] => [
  ...(expiresInSeconds === undefined ? [] : [`expires in ${expiresInSeconds}`]),
  ...(expiresAtMs === undefined ? [] : [`expires at ${expiresAtMs}`]),
]

const invalid = (field: string, problem: string): QueueError =>
  new QueueError('INVALID_PARAMETER', `${field} ${problem}`, { field })
