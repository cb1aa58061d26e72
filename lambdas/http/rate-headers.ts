import type { Standing } from '../rate/rate-limits.ts'

/** `Retry-After`: rounded up, so that the window is open by then, and at least one, because zero would mean "now". */
export const retryAfter = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))

/**
 * `RateLimit-Policy` and `RateLimit` by draft-ietf-httpapi-ratelimit-headers-10. Both count whole
 * seconds, so a shorter window is shown as one of a second.
 */
export const rateLimitHeaders = (
  { limit, windowMillis, remaining }: Standing,
  resetMs: number,
): Readonly<Record<string, string>> => ({
  'ratelimit-policy': `"default";q=${limit};w=${retryAfter(windowMillis)}`,
  ratelimit: `"default";r=${remaining};t=${retryAfter(resetMs)}`,
})
