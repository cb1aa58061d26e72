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
 * key has its own, so that a decision there needs no read; a process that works on other shards looks now and then.
 */
export async function knownSettings(
  limiter: Limiter,
  key: string,
  sinceMs?: number,
): Promise<KnownSettings> {
  let known = limiter.configurations.get(key)
  if (known !== undefined && known.settings.shards > 1) {
    const oldestMs = Math.max(sinceMs ?? 0, nowMs(limiter) - PATTERNS_KEPT_MS)
    if (known.confirmedMs < oldestMs) {
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
