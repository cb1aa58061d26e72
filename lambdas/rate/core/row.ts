import { CLOCKS_APART_MAX_MS, IDLE_WINDOWS, PATTERNS_KEPT_MS } from './bounds.ts'
import type { Epoch } from './epoch.ts'
import type { Issued } from './hand-over.ts'
import { overMs } from './ruler.ts'
import type { KeyConfiguration } from './settings.ts'

/**
 * Everything that we store about a key, or about one of its shards:
 *
 *   absent ── first request ──▶ cursor in the window that is now
 *   cursor ── taken ──▶ cursor + cost ── window over, request ──▶ cursor of the window that is now
 *   epoch ── other rules ──▶ the next epoch, from the last promise on
 *   last ── its turn given up ──▶ cursor − cost, giveUps + 1
 *   idle for three windows, and a while ── TTL ──▶ absent (a configured row stays)
 */
export type RateRow = Issued & {
  /** The item's time: the start of the latest window by any clock that wrote. Never goes back. */
  readonly atMs: number
  /** How many turns were given back. A ticket names the count at its issue. */
  readonly giveUps: number
  /** The key's own settings, on the row of its first shard: every writer there reads them. */
  readonly configuration: KeyConfiguration | undefined
}

/**
 * Three windows after the last one that may have been promised, by the slowest clock: a process that makes the row
 * anew after that is sure to begin after all earlier promises. And no process remembers settings for longer than that,
 * so none makes the row anew by settings that it was told to forget.
 */
export function ttlSeconds(epoch: Epoch, lastPosition: number): number {
  const idleMs = Math.max(IDLE_WINDOWS * epoch.rules.windowMs, PATTERNS_KEPT_MS)
  const forgetMs = overMs(epoch, Math.max(0, lastPosition), 1) + idleMs + CLOCKS_APART_MAX_MS
  return Math.ceil(forgetMs / 1_000)
}
