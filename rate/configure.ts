// Settings of keys and of prefixes: set, removed and read; and a key's state. A key's own settings lie on the row of
// its first shard, so that every writer there reads them. Other shards are told before we answer; if we die on the
// way, processes find out when they look at the first shard again. A write whose answer was lost is looked up: if it
// has landed, it is ours. `ifMatch` holds for the row that the write names, however often we try.

import { isDeepStrictEqual } from 'node:util'
import { changeRow } from '../aws/change-row.ts'
import type { Dynamo, Row } from '../aws/dynamo.ts'
import { QueueError } from '../shared/errors.ts'
import { PATTERNS_KEPT_MS } from './core/bounds.ts'
import { naturalEpoch, placeInLine, remainingAt, turnMs, windowStartMs } from './core/epoch.ts'
import {
  checkRateKey,
  decodeSettings,
  encodeSettings,
  patternsKey,
  type RateRow,
  rowKey,
  ruledRow,
  type StoredSettings,
  slackAt,
} from './core/row.ts'
import {
  type KeyConfiguration,
  noPatterns,
  type PatternInput,
  type Patterns,
  patternsFrom,
  rulesOf,
  type Settings,
  type SettingsInput,
  settingsByPattern,
  settingsFrom,
  shardsFrom,
} from './core/settings.ts'
import {
  attempts,
  checkClock,
  done,
  type Limiter,
  nowMs,
  PAUSE_MS,
  readRow,
  seenRow,
} from './limiter.ts'
import { outOfReach } from './take-slots.ts'
import { ATTEMPTS_MAX, configurationUpdate, tellRow } from './tell-row.ts'

export type ConfigureRequest = {
  readonly ifMatch?: number | undefined
  /** When the gateway received the call, if known: we refuse a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

/** The settings that apply to a key, and where they come from: the first of these that exists. */
export type AppliedSettings = {
  readonly settings: Settings
  readonly from: 'key' | 'pattern' | 'default'
  /** 0 if nothing is configured. */
  readonly revision: number
}

export const configureVerbs = (limiter: Limiter) => ({
  state: (key: string) => rateState(limiter, key),
  configuration: (key: string) => rateConfiguration(limiter, key),
  configure: async (key: string, input: SettingsInput, request?: ConfigureRequest) => {
    checkRateKey(key)
    return replace(limiter, key, settingsFrom(input), request)
  },
  unconfigure: async (key: string, request?: ConfigureRequest) => {
    checkRateKey(key)
    return replace(limiter, key, undefined, request)
  },
  patterns: () => ratePatterns(limiter),
  configurePatterns: (inputs: readonly PatternInput[], request?: ConfigureRequest) =>
    configureRatePatterns(limiter, inputs, request),
})

async function rateConfiguration(limiter: Limiter, key: string): Promise<AppliedSettings> {
  checkRateKey(key)
  const row = await readRow(limiter, { key, shard: 0 })
  return applied(limiter, key, row)
}

async function applied(
  limiter: Limiter,
  key: string,
  row: RateRow | undefined,
): Promise<AppliedSettings> {
  if (row?.configuration !== undefined) return { ...row.configuration, from: 'key' }
  const { value: patterns } = await limiter.patterns.get(nowMs(limiter))
  const matches = patterns.patterns.some(({ prefix }) => key.startsWith(prefix))
  return {
    settings: settingsByPattern(patterns, key),
    from: matches ? 'pattern' : 'default',
    revision: matches ? patterns.revision : 0,
  }
}

/** Gives a key other settings of its own, or removes them, so that those of its prefix, or the defaults, apply again. */
async function replace(
  limiter: Limiter,
  key: string,
  settings: Settings | undefined,
  { ifMatch, receivedMs }: ConfigureRequest = {},
): Promise<AppliedSettings> {
  const place = { key, shard: 0 }
  const startedMs = nowMs(limiter)
  checkClock(startedMs, receivedMs)
  const { value: patterns } = await limiter.patterns.get(startedMs)
  const applies = settings ?? settingsByPattern(patterns, key)
  let before = await readRow(limiter, place)
  const checkRevision = () => {
    const why = `Cannot configure rate limit "${key}" because its configuration is`
    checkMatch(before?.configuration?.revision ?? 0, ifMatch, why)
  }
  checkRevision()
  if (settings === undefined && before?.configuration === undefined)
    return applied(limiter, key, before)
  // A greater revision must be newer, even if this clock is wrong.
  let revision = Math.max(startedMs, (before?.epoch.revision ?? 0) + 1, patterns.revision + 1)
  let { shards } = applies
  return attempts(
    ATTEMPTS_MAX,
    async (attempt) => {
      const configuration: KeyConfiguration | undefined = settings && { settings, revision }
      const ruling = {
        rules: rulesOf(applies, 0),
        revision,
        configured: configuration !== undefined,
      }
      const slack = slackAt(attempt)
      const after = ruledRow(before, ruling, nowMs(limiter), { slack, configuration })
      shards = Math.max(shards, before?.configuration?.settings.shards ?? 1)
      const written = await limiter.dynamo.update(
        rowKey(key, 0),
        configurationUpdate(before, after, (before?.cursor ?? 0) + slack),
      )
      if (written.kind === 'done') {
        seenRow(limiter, place, written.row)
        await tellShards(limiter, key, applies, { revision, shards })
        return done(await applied(limiter, key, after))
      }
      before = await readAfter(limiter, key, written)
      const isOurs = isDeepStrictEqual(before?.configuration, configuration)
      // Our write has landed after all; only its answer was lost.
      if (isOurs && before?.epoch.revision === revision) {
        await tellShards(limiter, key, applies, { revision, shards })
        return done(await applied(limiter, key, before))
      }
      checkRevision()
      revision = Math.max(revision, (before?.epoch.revision ?? 0) + 1)
      await limiter.clock.sleep(PAUSE_MS * limiter.random())
      return { kind: 'again' }
    },
    () =>
      new QueueError(
        'BUSY',
        `Cannot configure rate limit "${key}" because it is too busy; try again`,
      ),
  )
}

/**
 * The first shard has the settings, and the others hear of them before we answer: those that they are for, and those
 * that the key had before, because processes may still send callers there. If we fail or die on the way, processes
 * notice when they look at the first shard again.
 */
async function tellShards(
  limiter: Limiter,
  key: string,
  settings: Settings,
  { revision, shards }: { readonly revision: number; readonly shards: number },
): Promise<void> {
  const others = shardsFrom(0, shards).slice(1)
  const told = others.map((shard) => {
    const ruling = { rules: rulesOf(settings, shard), revision, configured: false }
    return tellRow(limiter, { key, shard }, ruling)
  })
  const failed = (await Promise.allSettled(told)).find(({ status }) => status === 'rejected')
  if (failed?.status !== 'rejected') return
  throw new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot tell all shards of rate limit "${key}" of its new settings, which hold everywhere in ${PATTERNS_KEPT_MS / 1_000} s; try again`,
    { outcome: 'unknown', cause: failed.reason },
  )
}

async function readAfter(
  limiter: Limiter,
  key: string,
  written: { kind: 'failed' } | { kind: 'unknown'; cause: unknown },
): Promise<RateRow | undefined> {
  return readRow(limiter, { key, shard: 0 }).catch((error: unknown) => {
    throw written.kind === 'unknown' ? outOfReach(key, error) : error
  })
}

function checkMatch(revision: number, ifMatch: number | undefined, why: string): void {
  if (ifMatch === undefined || ifMatch === revision) return
  throw new QueueError('VERSION_MISMATCH', `${why} at revision ${revision}, not ${ifMatch}`, {
    field: 'If-Match',
  })
}

/** Patterns change by hand, now and then. */
const PATTERNS_ATTEMPTS_MAX = 5

async function ratePatterns(limiter: Limiter): Promise<Patterns> {
  return (await limiter.patterns.get(nowMs(limiter))).value
}

/** Replaces all patterns at once, so that one list always applies to a key, never a mix of two. */
async function configureRatePatterns(
  limiter: Limiter,
  inputs: readonly PatternInput[],
  { ifMatch, receivedMs }: ConfigureRequest = {},
): Promise<Patterns> {
  const patterns = patternsFrom(inputs)
  checkClock(nowMs(limiter), receivedMs)
  return changeRow(limiter.dynamo, {
    key: patternsKey,
    versions: ['r'],
    attemptsMax: PATTERNS_ATTEMPTS_MAX,
    decode: decodePatterns,
    decide({ revision }) {
      checkMatch(revision, ifMatch, "Cannot change the rate limits' patterns because they are")
      const answer = { patterns, revision: Math.max(nowMs(limiter), revision + 1) }
      return { answer, row: encodePatterns(answer) }
    },
    sent: () => limiter.patterns.forget(),
    inDoubt: (cause) => outOfReach('patterns', cause),
    busy: () =>
      new QueueError(
        'BUSY',
        'Cannot change the rate limits’ patterns because others do; try again',
      ),
  })
}

type StoredPattern = StoredSettings & { readonly p: string }

/** `r`: the revision; `l`: the patterns, the longest prefix first. */
const encodePatterns = ({ patterns, revision }: Patterns): Row => ({
  ...patternsKey,
  r: revision,
  l: patterns.map(({ prefix, settings }) => ({ p: prefix, ...encodeSettings(settings) })),
})

export const readPatterns = async (dynamo: Dynamo): Promise<Patterns> =>
  decodePatterns(await dynamo.get(patternsKey, true))

function decodePatterns(row: Row | undefined): Patterns {
  if (row === undefined) return noPatterns
  const { r, l } = row as { r: number; l: readonly StoredPattern[] }
  return {
    revision: r,
    patterns: l.map((stored) => ({ prefix: stored.p, settings: decodeSettings(stored) })),
  }
}

type ShardState = {
  readonly shard: number
  readonly limit: number
  /** Requests of cost 1 that could go now. */
  readonly remaining: number
  /** Slots promised for later windows. */
  readonly waiting: number
  readonly window: { readonly startMs: number; readonly endMs: number }
  /** When the last promised turn comes; absent if nobody waits. */
  readonly lastTurnMs?: number
}

export type RateState = AppliedSettings & {
  readonly key: string
  readonly shards: readonly ShardState[]
}

/** Looks, and changes nothing: one read a shard. */
async function rateState(limiter: Limiter, key: string): Promise<RateState> {
  checkRateKey(key)
  const applied = await rateConfiguration(limiter, key)
  const { shards } = applied.settings
  const numbers = Array.from({ length: shards }, (_, shard) => shard)
  const states = numbers.map((shard) => shardState(limiter, key, applied.settings, shard))
  return { ...applied, key, shards: await Promise.all(states) }
}

async function shardState(
  limiter: Limiter,
  key: string,
  settings: Settings,
  shard: number,
): Promise<ShardState> {
  const row = await readRow(limiter, { key, shard })
  const clockMs = nowMs(limiter)
  // If the row does not exist: the epoch that its first request would make.
  const ruling = { rules: rulesOf(settings, shard), revision: 0, configured: false }
  const epoch = row?.epoch ?? naturalEpoch(ruling, clockMs)
  const itemMs = Math.max(clockMs, row?.atMs ?? 0)
  const cursor = row?.cursor ?? 0
  const { maxRequests: limit, windowMs } = epoch.rules
  const startMs = Math.max(epoch.startMs, windowStartMs(epoch, itemMs))
  // The last slot issued, if its turn is still to come.
  const waiting = cursor === 0 ? 0 : placeInLine(epoch, cursor - 1, 1, itemMs)
  return {
    shard,
    limit,
    remaining: remainingAt(epoch, cursor, itemMs),
    waiting,
    window: { startMs, endMs: startMs + windowMs },
    ...(waiting > 0 && { lastTurnMs: turnMs(epoch, cursor - 1, 1) }),
  }
}
