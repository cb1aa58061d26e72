import { PATTERNS_KEPT_MS } from '../core/bounds.ts'
import { settingsByPattern } from '../core/patterns.ts'
import type { Settings } from '../core/settings.ts'
import { type Limiter, nowMs, readRow } from './limiter.ts'

/** The settings that apply to a key, as far as this process knows. */
export type KnownSettings = {
  readonly settings: Settings
  readonly revision: number
  /** Whether they are the key's own. */
  readonly configured: boolean
  /** When we read or confirmed them, by this process's clock. */
  readonly asOfMs: number
}

/**
 * The key's own settings, or those of the longest prefix, or the defaults. The row of the first shard shows whether the
 * key has its own, so that a decision there needs no read. The rows of other shards show only that there are newer ones;
 * in case somebody failed to tell them, a process that works on those looks now and then.
 */
export async function knownSettings(
  limiter: Limiter,
  key: string,
  sinceMs?: number,
): Promise<KnownSettings> {
  let known = limiter.configurations.get(key)
  if (known !== undefined && known.settings.shards > 1) {
    // A row's news may be newer than anything that another call of this process has read, so this call reads itself.
    if (sinceMs !== undefined || known.confirmedMs < nowMs(limiter) - PATTERNS_KEPT_MS) {
      await readRow(limiter, { key, shard: 0 })
      known = limiter.configurations.get(key)
    }
  }
  if (known !== undefined) {
    const { settings, revision, confirmedMs } = known
    return { settings, revision, configured: true, asOfMs: confirmedMs }
  }
  const { value: patterns, asOfMs } = await limiter.patterns.get(sinceMs)
  const settings = settingsByPattern(patterns, key)
  return { settings, revision: patterns.revision, configured: false, asOfMs }
}
