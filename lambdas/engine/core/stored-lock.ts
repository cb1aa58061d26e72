import type { Lock, Stretch } from './record.ts'

export type StoredLock =
  /** A claim: one stretch, whose start is under the same lock id in `F`. */
  | { x: number; p: number; n: number; k?: string }
  /** [priority, from, to, …] */
  | { x: number; r: number[]; k?: string }

export function decodeLock(stored: StoredLock, from: number | undefined): Lock {
  if ('r' in stored) {
    const stretches: Stretch[] = []
    for (let i = 0; i < stored.r.length; i += 3) {
      stretches.push({
        priority: stored.r[i] as number,
        from: stored.r[i + 1] as number,
        to: stored.r[i + 2] as number,
      })
    }
    return { expiresAtMs: stored.x, stretches, keyHash: stored.k }
  }
  const start = from as number
  return {
    expiresAtMs: stored.x,
    stretches: [{ priority: stored.p, from: start, to: start + stored.n }],
    keyHash: stored.k,
  }
}

export function encodeLock(lock: Lock): Extract<StoredLock, { r: number[] }> {
  return {
    x: lock.expiresAtMs,
    r: lock.stretches.flatMap(({ priority, from, to }) => [priority, from, to]),
    ...(lock.keyHash !== undefined && { k: lock.keyHash }),
  }
}
