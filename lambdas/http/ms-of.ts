import { looksLikeSeconds } from '../foundation/shared/epoch.ts'

/**
 * A time of a request, in epoch seconds there. One of 1970 to 1973 is as long past as 0: the engine would ask
 * whether its caller had milliseconds in mind.
 */
export function msOf(seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined
  const ms = Math.round(1_000 * seconds)
  return looksLikeSeconds(ms) ? 0 : ms
}
