// The verb decide: which settings apply, which shard answers, and what the caller hears. A row may know newer
// settings than this process: then we look them up and decide again. A limit whose settings lie elsewhere (a queue's)
// is decided here too, under a key that no caller can name.

import { QueueError } from '../shared/errors.ts'
import { CALLER_CHARACTERS_MAX, MAX_REQUESTS_MAX } from './core/bounds.ts'
import {
  lastOpenAt,
  overMs,
  placeInLine,
  remainingAt,
  type Turn,
  turnMs,
  turnOf,
} from './core/epoch.ts'
import { checkRateKey, guardKey } from './core/row.ts'
import {
  type Algorithm,
  checkInteger,
  type GuardLimit,
  type Overrides,
  overridden,
  rulesOf,
  type Settings,
  settingsFrom,
  shardOfCaller,
  shardsFrom,
  unusable,
} from './core/settings.ts'
import {
  checkClock,
  type KnownSettings,
  knownSettings,
  type Limiter,
  nowMs,
  type SlotLimiter,
} from './limiter.ts'
import { type Taken, take } from './take-slots.ts'
import { tellRow } from './tell-row.ts'

export type RateRequest = {
  /** How many slots it takes, all in one window. */
  readonly cost?: number | undefined
  /** Whether a place in a later window will do as well. */
  readonly canWait?: boolean | undefined
  readonly overrides?: Overrides | undefined
  /** Names the caller. If the key is split into shards, the requests of one caller keep their order. */
  readonly caller?: string | undefined
  /** When the gateway received the call, if known: we refuse a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

/** Part of every answer: the limit's present state, for headers. */
export type Standing = {
  /** The limit of the key, or of the shard that answered. */
  readonly limit: number
  readonly windowMillis: number
  readonly algorithm: Algorithm
  readonly remaining: number
}

export type Allowed = Standing & {
  readonly kind: 'allowed'
  readonly window: { readonly startMs: number; readonly endMs: number }
}
export type Denied = Standing & {
  readonly kind: 'denied'
  /** Which of the two has no room: the window, or the line of waiting callers. */
  readonly full: 'window' | 'line'
  readonly retryAtMs: number
  readonly retryAfterMs: number
}
/** Promised: the turn comes at `notBeforeMs`, whatever happens to the limit meanwhile. */
export type Promised = Standing & {
  readonly kind: 'promised'
  readonly turn: Turn
  readonly waitMs: number
  /** 1 means that nobody waits in front of it. */
  readonly position: number
}
/** The caller wants another limit than the key's, which its configuration does not allow. */
export type OverrideRefused = { readonly kind: 'override-refused'; readonly field: keyof Overrides }

export type RateDecision = Allowed | Denied | Promised | OverrideRefused

/** A round may teach us new settings: once the key's own, once even newer ones. */
const ROUNDS_MAX = 6

export async function decideRate(
  limiter: Limiter,
  key: string,
  request: RateRequest = {},
): Promise<RateDecision> {
  checkRateKey(key)
  const settings = (sinceMs?: number) => knownSettings(limiter, key, sinceMs)
  // A key always has settings, if only by default.
  return (await decideBySettings(limiter, key, request, settings)) as RateDecision
}

/** The settings that apply to a key; given a time, read since then. `undefined`: there is no limit. */
type SettingsSource = (sinceMs?: number) => Promise<KnownSettings | undefined>

/** Also for keys that callers cannot name. `undefined`: there is no limit any more. */
async function decideBySettings(
  limiter: SlotLimiter,
  key: string,
  request: RateRequest,
  settings: SettingsSource,
): Promise<RateDecision | undefined> {
  const { caller, cost = 1, overrides = {}, receivedMs } = request
  checkInteger('cost', cost, 1, MAX_REQUESTS_MAX)
  if (caller !== undefined && (caller.length < 1 || caller.length > CALLER_CHARACTERS_MAX)) {
    throw unusable('caller', `it must have 1 to ${CALLER_CHARACTERS_MAX} characters`)
  }
  const startedMs = nowMs(limiter)
  checkClock(startedMs, receivedMs)
  let known = await settings()
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    if (known === undefined) return undefined
    const wanted = overridden(known.settings, overrides)
    if (wanted.kind === 'refused') return { kind: 'override-refused', field: wanted.field }
    const decision = await askShards(limiter, key, request, known, wanted.settings, round > 1)
    if (decision.kind !== 'news') return decision
    known = await settings(startedMs)
  }
  throw new QueueError(
    'BUSY',
    `Cannot decide on rate limit "${key}" because its settings keep changing`,
  )
}

async function askShards(
  limiter: SlotLimiter,
  key: string,
  { caller, canWait = false, cost = 1 }: RateRequest,
  known: KnownSettings,
  settings: Settings,
  looked: boolean,
): Promise<RateDecision | { readonly kind: 'news' }> {
  const { shards } = settings
  const first =
    caller === undefined ? Math.floor(limiter.random() * shards) : shardOfCaller(caller, shards)
  // A call that can wait does so in its own shard's line; one that cannot may find room in any shard.
  const tried = canWait ? [first] : shardsFrom(first, shards)
  let best: Denied | undefined
  for (const shard of tried) {
    const { maxRequests } = rulesOf(settings, shard)
    if (cost > maxRequests) {
      throw unusable(
        'cost',
        `a window has ${maxRequests} slots${shards > 1 ? ' a shard' : ''}, not ${cost}`,
      )
    }
    const taken = await take(limiter, { key, shard }, known, { cost, canWait, settings, looked })
    if (taken.kind === 'news') return taken
    if (taken.kind === 'slot') return granted(limiter, { key, shard }, taken, cost)
    const denied = deniedOf(taken, canWait, nowMs(limiter))
    if (best === undefined || denied.retryAtMs < best.retryAtMs) best = denied
  }
  return best as Denied
}

function granted(
  limiter: SlotLimiter,
  place: { readonly key: string; readonly shard: number },
  { row, epoch, position }: Extract<Taken, { kind: 'slot' }>,
  cost: number,
): Allowed | Promised {
  const clockMs = nowMs(limiter)
  const itemMs = Math.max(clockMs, row.atMs)
  const { maxRequests: limit, windowMs: windowMillis, algorithm } = epoch.rules
  const remaining = remainingAt(epoch, row.cursor, itemMs)
  const standing = { limit, windowMillis, algorithm, remaining }
  const startMs = turnMs(epoch, position, cost)
  if (position <= lastOpenAt(epoch, itemMs, cost)) {
    const window = { startMs, endMs: overMs(epoch, position, cost) }
    return { kind: 'allowed', ...standing, window }
  }
  return {
    kind: 'promised',
    ...standing,
    turn: turnOf(place, epoch, position, cost, row.giveUps),
    waitMs: Math.max(0, startMs - clockMs),
    // Before an epoch's first window, the line can consist of callers who came under the previous rules.
    position: Math.max(1, placeInLine(epoch, position, cost, itemMs)),
  }
}

function deniedOf(
  { epoch, nowMs, opensMs, row }: Extract<Taken, { kind: 'denied' }>,
  canWait: boolean,
  clockMs: number,
): Denied {
  const { maxRequests: limit, windowMs: windowMillis, algorithm } = epoch.rules
  return {
    kind: 'denied',
    limit,
    windowMillis,
    algorithm,
    remaining: row.epoch === epoch ? remainingAt(epoch, row.cursor, nowMs) : 0,
    full: canWait ? 'line' : 'window',
    retryAtMs: opensMs,
    // At least 1 ms: the call is denied now, even if two clocks disagree.
    retryAfterMs: Math.max(1, opensMs - clockMs),
  }
}

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
