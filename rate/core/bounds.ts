/** All bounds of the rate limiter, each with the reason for its number. */

/** With this many in a window of 100 ms, the slots since 1970 stay below 2^53 until after the year 2200. */
export const MAX_REQUESTS_MAX = 100_000
/** A waiter is only a number, so a million of them cost as much as one; with more, callers would wait too long. */
export const IN_LINE_MAX = 1_000_000
/** A shorter window would be only as long as a few requests to the store. */
export const WINDOW_MS_MIN = 100
export const WINDOW_MS_MAX = 86_400_000
/** 25 rows take 25,000 decisions a second. */
export const SHARDS_MAX = 25
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
 * Over HTTP, the service lets a call wait less long, unless a setting says otherwise: each waiting call takes an
 * environment of the function, and an account has 1,000 of them for all its functions, a new account 10. At 50
 * calls a second, waits of 2 s take 100 environments; waits of 20 s would take them all.
 */
export const HOLD_MS_DEFAULT = 2_000

/**
 * How far a clock may be behind the gateway's, and how far ahead: a cold start of ten seconds may lie between the
 * gateway's time and ours.
 */
export const CLOCK_BEHIND_MAX_MS = 5_000
export const CLOCK_AHEAD_MAX_MS = 15_000
/** So two clocks that both pass are at most this far apart. */
export const CLOCKS_APART_MAX_MS = CLOCK_BEHIND_MAX_MS + CLOCK_AHEAD_MAX_MS

/** We forget an idle key after three windows, by the slowest clock; but not before each process has looked again. */
export const IDLE_WINDOWS = 3

/** How long a process uses the patterns it has read: a change may take this long to have an effect. */
export const PATTERNS_KEPT_MS = 30_000
/**
 * How long after the end of its slot's window an answer may arrive. A slot that comes later is wasted: its row may
 * have been deleted meanwhile, and another call may have the slot. A row outlives its windows by twenty times as
 * long.
 */
export const LATE_SLOT_MS = 1_000
/** Keys whose rows a process remembers: some 300 bytes each. */
export const REMEMBERED_ROWS_MAX = 10_000
/**
 * A process answers "denied" from memory for a tenth of a window at a time (so it asks with ten writes a window),
 * but for at least a second, and at most a minute: a raised limit takes effect after that.
 */
export const DENIAL_WINDOW_SHARE = 10
export const DENIAL_KEPT_MS_MIN = 1_000
export const DENIAL_KEPT_MS_MAX = 60_000

/** A ticket is valid from its turn to the end of its window, and at least for this long, because clients poll. */
export const TICKET_GOOD_MS_MIN = 10_000
/** As many bytes as the strength of the hash that it keys. */
export const SECRET_BYTES_MIN = 16
/** Bytes of a secret that we make: as many as the hash has. */
export const SECRET_BYTES = 32

/** How long a process uses the table's secrets after it has read them. */
export const SECRETS_KEPT_MS = 300_000
/**
 * How long after a change the new secret begins to sign. A process may have read the row just before the
 * change and use that for five minutes; its clock may be twenty seconds behind, another's twenty seconds
 * ahead, and its next read may take some seconds. Twice the five minutes covers all of that. It does not cover
 * the operator's clock, and need not, because the change takes its time from the store.
 */
export const SECRET_SETTLES_MS = 2 * SECRETS_KEPT_MS
/** With one change a month, tickets stay valid for three. Each former secret costs one more HMAC per forged ticket. */
export const FORMER_SECRETS_MAX = 3

/** Smooth cursors count from a multiple of this (some two years), so that they stay below 2^53. */
export const SMOOTH_ERA_MS = 2 ** 36
/** Past this, a cursor starts counting anew. */
export const CURSOR_MAX = 2 ** 52
