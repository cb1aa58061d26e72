/*
 * A record has one timer, `checkAt`. If a consumer may wait for it (a lock that ends), it is *prompt*, and `Wake`
 * comes for it within a second or so. If no consumer waits (a reminder, an empty queue that can go), it is *patient*:
 * Wake does not stay awake for it, and the sweep that runs each minute comes for it. Times are whole milliseconds, so
 * half a millisecond can say which kind it is: in the index, without another attribute, and to engines of any age.
 */

/**
 * The stream must announce a prompt timer that ends sooner than this. The sweep looks this far ahead and comes
 * every minute, so it sees all others in time, even if it starts half a minute late.
 */
export const NEAR_MS = 90_000

/** Makes a time patient: half a millisecond before it. */
export const patiently = (atMs: number): number => Math.ceil(atMs) - 0.5

export const isPatient = (atMs: number): boolean => atMs % 1 === 0.5

/** Whether the stream must announce it (the record's flag `wk`). */
export const isNear = (atMs: number | undefined, nowMs: number): boolean =>
  atMs !== undefined && !isPatient(atMs) && atMs < nowMs + NEAR_MS

/** A patient time must not hide a later prompt one: in front of one, it counts as prompt. */
export const asPrompt = (atMs: number): number => Math.floor(atMs)

/** The earliest of several times, for the one timer. */
export function earliestOf(times: readonly (number | undefined)[]): number | undefined {
  const wanted = times.filter((time) => time !== undefined)
  if (wanted.length === 0) return undefined
  const earliest = Math.min(...wanted)
  return wanted.every(isPatient) ? earliest : asPrompt(earliest)
}
