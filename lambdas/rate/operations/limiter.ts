import { BoundedCache } from '../../foundation/bounded-cache.ts'
import type { Clock, Dynamo, Random, Row } from '../../foundation/dynamo.ts'
import {
  DENIAL_KEPT_MS_MAX,
  DENIAL_KEPT_MS_MIN,
  DENIAL_WINDOW_SHARE,
  REMEMBERED_ROWS_MAX,
} from '../core/bounds.ts'
import { checkItemTime } from '../core/clocks.ts'
import { rowKey } from '../core/keys.ts'
import type { Patterns } from '../core/patterns.ts'
import type { RateRow } from '../core/row.ts'
import type { KeyConfiguration } from '../core/settings.ts'
import { decodeRateRow } from '../store/rate-row.ts'
import type { KeptReading } from './kept-reading.ts'
import { Turnstile } from './turnstile.ts'

/** What a decision with known settings needs. */
export type SlotLimiter = {
  readonly dynamo: Dynamo
  readonly clock: Clock
  readonly random: Random
  /** Rows as last seen, by their partition key. A remembered cursor is a lower bound of the present one. */
  readonly rows: BoundedCache<SeenRow>
  /** Keys' own settings, as last seen on the row of their first shard. */
  readonly configurations: BoundedCache<KnownConfiguration>
  readonly turnstile: Turnstile
}

/** What every verb of the rate limiter works with; built once by `createRateLimits`. */
export type Limiter = SlotLimiter & {
  readonly patterns: KeptReading<Patterns>
  readonly secrets: SecretsReader
}

export function createSlotLimiter({
  dynamo,
  clock,
  random,
}: Pick<SlotLimiter, 'dynamo' | 'clock' | 'random'>): SlotLimiter {
  return {
    dynamo,
    clock,
    random,
    rows: new BoundedCache(REMEMBERED_ROWS_MAX),
    configurations: new BoundedCache(REMEMBERED_ROWS_MAX),
    turnstile: new Turnstile(),
  }
}

export type SeenRow = {
  readonly row: RateRow
  readonly seenMs: number
  /** Others take from it as well. This only decides which write we try first. */
  readonly shared: boolean
}
type KnownConfiguration = KeyConfiguration & { readonly confirmedMs: number }

export type Place = { readonly key: string; readonly shard: number }

export const nowMs = (limiter: SlotLimiter): number => Math.floor(limiter.clock.nowMs())

/** Decodes a row that DynamoDB returned, and remembers it and its key's settings. */
export function seenRow(
  limiter: SlotLimiter,
  place: Place,
  item: Row | undefined,
): RateRow | undefined {
  const name = rowKey(place.key, place.shard).pk
  const row = item === undefined ? undefined : decodeRateRow(item)
  const seenMs = nowMs(limiter)
  if (place.shard === 0) rememberConfiguration(limiter, place.key, row, seenMs)
  if (row === undefined) limiter.rows.delete(name)
  else {
    checkItemTime(seenMs, row.atMs)
    const shared = limiter.rows.get(name)?.shared ?? false
    limiter.rows.set(name, { row, seenMs, shared })
  }
  return row
}

export function markShared(limiter: SlotLimiter, place: Place, shared: boolean): void {
  const name = rowKey(place.key, place.shard).pk
  const seen = limiter.rows.get(name)
  if (seen !== undefined && seen.shared !== shared) limiter.rows.set(name, { ...seen, shared })
}

function rememberConfiguration(
  limiter: SlotLimiter,
  key: string,
  row: RateRow | undefined,
  seenMs: number,
): void {
  if (row?.configuration === undefined) limiter.configurations.delete(key)
  else limiter.configurations.set(key, { ...row.configuration, confirmedMs: seenMs })
}

/** Whether we may still answer "denied" from this memory; the rules may have changed since. */
export function mayDeny({ row, seenMs }: SeenRow, clockMs: number): boolean {
  const share = row.epoch.rules.windowMs / DENIAL_WINDOW_SHARE
  const keptMs = Math.min(DENIAL_KEPT_MS_MAX, Math.max(DENIAL_KEPT_MS_MIN, share))
  return clockMs - seenMs <= keptMs
}

export async function readRow(limiter: SlotLimiter, place: Place): Promise<RateRow | undefined> {
  return seenRow(limiter, place, await limiter.dynamo.get(rowKey(place.key, place.shard), true))
}

/** Where a process gets its secrets. */
export interface SecretsReader {
  get(): Promise<Secrets>
}

/** First the secret that signs, then those that may have signed before. */
export type Secrets = readonly [Uint8Array, ...Uint8Array[]]
