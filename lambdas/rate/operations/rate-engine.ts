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
import type { RateRow } from '../core/row.ts'
import type { KeyConfiguration } from '../core/settings.ts'
import { decodeRateRow } from '../store/rate-row.ts'
import type { PatternsReader } from './patterns-reader.ts'
import type { SecretsReader } from './secrets-reader.ts'
import { Turnstile } from './turnstile.ts'

/** What a decision works with whose settings are known. */
export type SlotEngine = {
  readonly dynamo: Dynamo
  readonly clock: Clock
  readonly random: Random
  /** Rows as last seen, by their partition key. A cursor seen is a lower bound of what it is now. */
  readonly rows: BoundedCache<SeenRow>
  /** Keys' own settings, as last seen on the row of their first shard. */
  readonly configurations: BoundedCache<KnownConfiguration>
  readonly turnstile: Turnstile
}

/** What every verb of the rate limiter works with; built once by `createRateLimits`. */
export type RateEngine = SlotEngine & {
  readonly patterns: PatternsReader
  readonly secrets: SecretsReader
}

export function createSlotEngine({
  dynamo,
  clock,
  random,
}: Pick<SlotEngine, 'dynamo' | 'clock' | 'random'>): SlotEngine {
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
  /** Others take from it as well. Decides which write is tried first, and nothing else. */
  readonly shared: boolean
}
export type KnownConfiguration = KeyConfiguration & { readonly confirmedMs: number }

export type Place = { readonly key: string; readonly shard: number }

export const nowMs = (engine: SlotEngine): number => Math.floor(engine.clock.nowMs())

/** Decodes a row that DynamoDB handed over, and remembers it and what it tells of its key. */
export function seenRow(
  engine: SlotEngine,
  place: Place,
  item: Row | undefined,
): RateRow | undefined {
  const name = rowKey(place.key, place.shard).pk
  const row = item === undefined ? undefined : decodeRateRow(item)
  const seenMs = nowMs(engine)
  if (place.shard === 0) rememberConfiguration(engine, place.key, row, seenMs)
  if (row === undefined) engine.rows.delete(name)
  else {
    checkItemTime(seenMs, row.atMs)
    const shared = engine.rows.get(name)?.shared ?? false
    engine.rows.set(name, { row, seenMs, shared })
  }
  return row
}

export function markShared(engine: SlotEngine, place: Place, shared: boolean): void {
  const name = rowKey(place.key, place.shard).pk
  const seen = engine.rows.get(name)
  if (seen !== undefined && seen.shared !== shared) engine.rows.set(name, { ...seen, shared })
}

function rememberConfiguration(
  engine: SlotEngine,
  key: string,
  row: RateRow | undefined,
  seenMs: number,
): void {
  if (row?.configuration === undefined) engine.configurations.delete(key)
  else engine.configurations.set(key, { ...row.configuration, confirmedMs: seenMs })
}

/** Whether "denied" may still be answered from this memory: rules may have changed since. */
export function mayDeny({ row, seenMs }: SeenRow, clockMs: number): boolean {
  const share = row.epoch.rules.windowMs / DENIAL_WINDOW_SHARE
  const keptMs = Math.min(DENIAL_KEPT_MS_MAX, Math.max(DENIAL_KEPT_MS_MIN, share))
  return clockMs - seenMs <= keptMs
}

export async function readRow(engine: SlotEngine, place: Place): Promise<RateRow | undefined> {
  return seenRow(engine, place, await engine.dynamo.get(rowKey(place.key, place.shard), true))
}
