/** In the events of this project: the lock that an earlier pop made, which no file can know. */
export const SOME_LOCK = 'AAAAAAAAAAA'

export const withLock = (event: unknown, lockId: string | undefined): unknown =>
  lockId === undefined
    ? event
    : JSON.parse(JSON.stringify(event).replaceAll(SOME_LOCK, () => lockId))

/** The lock in the answer of a pop. */
export function lockIn(payload: string): string | undefined {
  // An answer's body is JSON within JSON.
  return /\\"locked\\":true,\\"lock_id\\":\\"([A-Za-z0-9_-]{11})\\"/.exec(payload)?.[1]
}
