import { isDeepStrictEqual } from 'node:util'
import { QueueError } from '../../foundation/errors.ts'
import { PATTERNS_KEPT_MS } from '../core/bounds.ts'
import { checkClock } from '../core/clocks.ts'
import { checkRateKey, rowKey } from '../core/keys.ts'
import { settingsByPattern } from '../core/patterns.ts'
import type { RateRow } from '../core/row.ts'
import { ruledRow, slackAt } from '../core/ruled-row.ts'
import {
  type KeyConfiguration,
  rulesOf,
  type Settings,
  type SettingsInput,
  settingsFrom,
} from '../core/settings.ts'
import { shardsFrom } from '../core/shards.ts'
import { configurationUpdate } from '../store/configuration-update.ts'
import { attempts, done } from './attempts.ts'
import { type Limiter, nowMs, readRow, seenRow } from './limiter.ts'
import { outOfReach } from './take.ts'
import { ATTEMPTS_MAX, PAUSE_MS, tellRow } from './tell-row.ts'

/** The settings that apply to a key, and where they come from: the first of these that exists. */
export type AppliedSettings = {
  readonly settings: Settings
  readonly from: 'key' | 'pattern' | 'default'
  /** 0 if nothing is configured. */
  readonly revision: number
}

export async function rateConfiguration(limiter: Limiter, key: string): Promise<AppliedSettings> {
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

export type ConfigureRequest = {
  readonly ifMatch?: number | undefined
  /** When the gateway received the call, if known: we refuse a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

/** Gives a key its own settings; absent ones have their defaults. */
export async function configureRate(
  limiter: Limiter,
  key: string,
  input: SettingsInput,
  request: ConfigureRequest = {},
): Promise<AppliedSettings> {
  checkRateKey(key)
  return replace(limiter, key, settingsFrom(input), request)
}

/** Removes a key's own settings, so that those of its prefix, or the defaults, apply again. */
export async function unconfigureRate(
  limiter: Limiter,
  key: string,
  request: ConfigureRequest = {},
): Promise<AppliedSettings> {
  checkRateKey(key)
  return replace(limiter, key, undefined, request)
}

async function replace(
  limiter: Limiter,
  key: string,
  settings: Settings | undefined,
  { ifMatch, receivedMs }: ConfigureRequest,
): Promise<AppliedSettings> {
  const place = { key, shard: 0 }
  const startedMs = nowMs(limiter)
  checkClock(startedMs, receivedMs)
  const { value: patterns } = await limiter.patterns.get(startedMs)
  const applies = settings ?? settingsByPattern(patterns, key)
  let before = await readRow(limiter, place)
  checkMatch(key, before, ifMatch)
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
      checkMatch(key, before, ifMatch)
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

function checkMatch(key: string, row: RateRow | undefined, ifMatch: number | undefined): void {
  const revision = row?.configuration?.revision ?? 0
  if (ifMatch === undefined || ifMatch === revision) return
  throw new QueueError(
    'VERSION_MISMATCH',
    `Cannot configure rate limit "${key}" because its configuration is at revision ${revision}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
}
