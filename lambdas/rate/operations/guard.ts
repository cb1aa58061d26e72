import type { GuardLimit } from '../core/guard-limit.ts'
import { guardKey } from '../core/keys.ts'
import { settingsFrom } from '../core/settings.ts'
import { type Allowed, type Denied, decideChecked } from './decide.ts'
import { nowMs, type SlotEngine } from './rate-engine.ts'

/**
 * A decision under a limit that is not stored here: its owner (a queue's configuration) hands it over
 * with each request. The key is one that no caller can name.
 */
export async function guard(
  engine: SlotEngine,
  verb: 'push' | 'pop',
  queue: string,
  limit: GuardLimit,
): Promise<Allowed | Denied> {
  const settings = settingsFrom(limit)
  const known = { settings, revision: 0, configured: false, asOfMs: nowMs(engine) }
  const decision = await decideChecked(engine, guardKey(verb, queue), {}, async () => known)
  // Neither overrides nor waiting were asked for.
  return decision as Allowed | Denied
}
