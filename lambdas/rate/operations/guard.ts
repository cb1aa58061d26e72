import { guardKey } from '../core/keys.ts'
import type { GuardLimit } from '../core/setting-fields.ts'
import { settingsFrom } from '../core/settings.ts'
import { type Allowed, type Denied, decideBySettings } from './decide.ts'
import type { KnownSettings } from './known-settings.ts'
import type { SlotLimiter } from './limiter.ts'

/** A limit, and the revision of its owner's configuration at which we saw it. */
export type OwnedLimit = { readonly limit: GuardLimit; readonly revision: number }

type GuardRequest = {
  readonly seen: OwnedLimit
  /** The owner's limit as it is now. */
  readonly look: () => Promise<OwnedLimit | undefined>
  readonly receivedMs: number | undefined
}

/**
 * A decision under a limit that is not stored here: its owner (a queue's configuration) passes it with each request,
 * and we ask the owner again if the row knows a later revision. No caller can name the key. `undefined`: there is no
 * limit any more.
 */
export async function guard(
  limiter: SlotLimiter,
  verb: 'push' | 'pop',
  queue: string,
  { seen, look, receivedMs }: GuardRequest,
): Promise<Allowed | Denied | undefined> {
  const settings = async (sinceMs?: number) => {
    const owned = sinceMs === undefined ? seen : await look()
    return owned && known(owned)
  }
  const decision = await decideBySettings(limiter, guardKey(verb, queue), { receivedMs }, settings)
  // We asked for neither overrides nor waiting.
  return decision as Allowed | Denied | undefined
}

/** Counts as known since for ever: its revision counts changes and is no time, so any greater one is news. */
const known = ({ limit, revision }: OwnedLimit): KnownSettings => ({
  settings: settingsFrom(limit),
  revision,
  configured: false,
  asOfMs: Number.NEGATIVE_INFINITY,
})
