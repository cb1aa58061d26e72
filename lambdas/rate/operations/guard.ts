import { guardKey } from '../core/keys.ts'
import type { GuardLimit } from '../core/setting-fields.ts'
import { settingsFrom } from '../core/settings.ts'
import { type Allowed, type Denied, decideBySettings } from './decide.ts'
import type { KnownSettings } from './known-settings.ts'
import type { SlotLimiter } from './limiter.ts'

/** A limit, and at which revision of its owner's configuration it was seen. */
export type OwnedLimit = { readonly limit: GuardLimit; readonly revision: number }

type GuardRequest = {
  readonly seen: OwnedLimit
  /** The owner's limit as it is now. */
  readonly look: () => Promise<OwnedLimit | undefined>
  readonly receivedMs: number | undefined
}

/**
 * A decision under a limit that is not stored here: its owner (a queue's configuration) hands it over
 * with each request, and is asked again where the row knows of a later revision. The key is one that
 * no caller can name. `undefined`: there is no limit any more.
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
  // Neither overrides nor waiting were asked for.
  return decision as Allowed | Denied | undefined
}

/** Known since never: a revision that counts changes, and no time, is news whenever it is greater. */
const known = ({ limit, revision }: OwnedLimit): KnownSettings => ({
  settings: settingsFrom(limit),
  revision,
  configured: false,
  asOfMs: Number.NEGATIVE_INFINITY,
})
