import type { Settings } from './setting-fields.ts'

export type Algorithm = Settings['algorithm']

/** What defines one row's ruler: the key's limit, or a shard's share of it. */
export type Rules = {
  readonly algorithm: Algorithm
  readonly maxRequests: number
  readonly windowMs: number
  /** For `smooth`: requests that may go at once after a rest. 1 if the algorithm is `window`. */
  readonly burst: number
}

export const sameRules = (a: Rules, b: Rules): boolean =>
  a.algorithm === b.algorithm &&
  a.maxRequests === b.maxRequests &&
  a.windowMs === b.windowMs &&
  a.burst === b.burst
