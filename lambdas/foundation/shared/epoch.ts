// Times are epoch seconds on the wire, and milliseconds in code. A caller who mixes them up names a time that nobody
// means: milliseconds taken for seconds are tens of thousands of years ahead, and seconds taken for milliseconds are in 1970.

/** The year 5138. As milliseconds it is March 1973. */
export const EPOCH_SECONDS_MAX = 99_999_999_999

/** September 2001. As seconds, an earlier time is as much in the past as it is as milliseconds. */
const MISTAKEN_FROM = 1_000_000_000

/** As milliseconds it would be a time from 1970 to 1973, which would count as "now", or as already expired. */
export const looksLikeSeconds = (ms: number): boolean =>
  ms >= MISTAKEN_FROM && ms <= EPOCH_SECONDS_MAX
