// Bounds that several parts of the rate limiter must agree on, or that callers run into, each with the reason for its
// number. A bound with one user stands beside it.

/** With this many in a window of 100 ms, the slots since 1970 stay below 2^53 until after the year 2200. */
export const MAX_REQUESTS_MAX = 100_000
/** All patterns are one item of up to some 15 KB, which each process reads twice a minute. */
export const PATTERNS_MAX = 100
/** As long as a queue id. */
export const PREFIX_CHARACTERS_MAX = 100
/** What tells one caller of a sharded key from another: a name, an address, a request id. */
export const CALLER_CHARACTERS_MAX = 256

/** The longest time for which a call may wait for its turn: the gateway gives up after 30 s. */
export const WAIT_MS_DEFAULT = 10_000
export const WAIT_MS_MAX = 20_000

/**
 * How far a clock may be behind the gateway's, and how far ahead: a cold start of ten seconds may lie between the
 * gateway's time and ours.
 */
export const CLOCK_BEHIND_MAX_MS = 5_000
export const CLOCK_AHEAD_MAX_MS = 15_000
/** So two clocks that both pass are at most this far apart. */
export const CLOCKS_APART_MAX_MS = CLOCK_BEHIND_MAX_MS + CLOCK_AHEAD_MAX_MS

/** How long a process uses the patterns it has read: a change may take this long to have an effect. */
export const PATTERNS_KEPT_MS = 30_000
