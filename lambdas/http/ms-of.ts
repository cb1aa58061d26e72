import { looksLikeSeconds } from '../foundation/shared/epoch.ts'

/**
 * Converts a request's time from epoch seconds. A time from 1970 to 1973 becomes 0, which is just as long ago: the
 * engine would otherwise suspect that its caller mixed up seconds and milliseconds.
 */
export function msOf(seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined
  const ms = Math.round(1_000 * seconds)
  return looksLikeSeconds(ms) ? 0 : ms
}
