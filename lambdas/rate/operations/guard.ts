import { guardKey } from '../core/keys.ts'
import type { GuardLimit } from '../core/setting-fields.ts'
import { rulesOf, settingsFrom } from '../core/settings.ts'
import { type Allowed, type Denied, decideBySettings } from './decide.ts'
import type { KnownSettings } from './known-settings.ts'
import type { SlotLimiter } from './limiter.ts'
import { tellRow } from './tell-row.ts'

/** A limit, and the revision of its owner's configuration at which we saw it. */
export type OwnedLimit = { readonly limit: GuardLimit; readonly revision: number }

type Guarded = (Allowed | Denied) & { readonly by: GuardLimit }

type GuardRequest = {
  readonly seen: OwnedLimit
  /** The owner's limit as it is now. */
  readonly look: () => Promise<OwnedLimit | undefined>
  readonly receivedMs: number | undefined
}

/**
 * A decision under a limit that is not stored here: its owner (a queue's configuration) passes it with each request,
 * and we ask the owner again if the row knows a later revision; the answer says by which limit it came. No caller can
 * name the key. `undefined`: there is no limit any more.
 */
export async function guard(
  limiter: SlotLimiter,
  verb: 'push' | 'pop',
  queue: string,
  { seen, look, receivedMs }: GuardRequest,
): Promise<Guarded | undefined> {
  let owned: OwnedLimit | undefined = seen
  const settings = async (sinceMs?: number) => {
    if (sinceMs !== undefined) owned = await look()
    return owned && known(owned)
  }
  const decision = await decideBySettings(limiter, guardKey(verb, queue), { receivedMs }, settings)
  // We asked for neither overrides nor waiting.
  return decision && { ...(decision as Allowed | Denied), by: owned.limit }
}

/**
 * Tells the row that counts calls of a newer limit, before somebody calls: then no process takes another slot of the
 * limit before, which would be good for nothing and yet count.
 */
export const tellGuard = (
  limiter: SlotLimiter,
  verb: 'push' | 'pop',
  queue: string,
  { limit, revision }: OwnedLimit,
): Promise<void> => {
  const ruling = { rules: rulesOf(settingsFrom(limit), 0), revision, configured: false }
  return tellRow(limiter, { key: guardKey(verb, queue), shard: 0 }, ruling)
}

/** Counts as known since for ever: its revision counts changes and is no time, so any greater one is news. */
const known = ({ limit, revision }: OwnedLimit): KnownSettings => ({
  settings: settingsFrom(limit),
  revision,
  configured: false,
  asOfMs: Number.NEGATIVE_INFINITY,
})
