import { type Epoch, naturalEpoch } from '../core/epoch.ts'
import { checkRateKey } from '../core/keys.ts'
import { placeInLine, remainingAt, turnMs, windowStartMs } from '../core/ruler.ts'
import { rulesOf, type Settings } from '../core/settings.ts'
import { type AppliedSettings, rateConfiguration } from './configure.ts'
import { type Limiter, nowMs, readRow } from './limiter.ts'

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
export async function rateState(limiter: Limiter, key: string): Promise<RateState> {
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
  const epoch = row?.epoch ?? unused(settings, shard, clockMs)
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

/** For a row that does not exist: the epoch that its first request would make. */
function unused(settings: Settings, shard: number, clockMs: number): Epoch {
  return naturalEpoch({ rules: rulesOf(settings, shard), revision: 0, configured: false }, clockMs)
}
