import type { Settings } from './setting-fields.ts'

export type Algorithm = Settings['algorithm']

/** What one row's ruler is made of: a key's share, where the key is split into shards. */
export type Rules = {
  readonly algorithm: Algorithm
  readonly maxRequests: number
  readonly windowMs: number
  /** Of `smooth`: requests that may go at once after a rest. 1 where the algorithm is `window`. */
  readonly burst: number
}

export const sameRules = (a: Rules, b: Rules): boolean =>
  a.algorithm === b.algorithm &&
  a.maxRequests === b.maxRequests &&
  a.windowMs === b.windowMs &&
  a.burst === b.burst
