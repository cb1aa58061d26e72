/** Every bound of the rate limiter in one place, each with the reason for its number. */

/** Slots since 1970 in windows of 100 ms stay below 2^53 with this many a window, past the year 2200. */
export const MAX_REQUESTS_MAX = 100_000
/** A waiter is a number, so a million of them cost what one does; more would wait too long for any caller. */
export const IN_LINE_MAX = 1_000_000
/** Below a tenth of a second a window is as long as a few requests to the store. */
export const WINDOW_MS_MIN = 100
export const WINDOW_MS_MAX = 86_400_000
/** 25 items take 25,000 decisions a second. */
export const SHARDS_MAX = 25
/** All patterns are one item of up to some 15 KB, which each process reads twice a minute. */
export const PATTERNS_MAX = 100
/** As long as a queue id. */
export const PREFIX_CHARACTERS_MAX = 100
/** What tells one caller of a sharded key from another: a name, an address, a request id. */
export const CALLER_CHARACTERS_MAX = 256

/** A call is held for its turn at most so long: the gateway gives up after 30 s. */
export const WAIT_MS_DEFAULT = 10_000
export const WAIT_MS_MAX = 20_000
/**
 * Over HTTP the service holds a call for less, unless a setting says otherwise: each held call takes an
 * environment of the function, and an account has 1,000 of them for all its functions, a new account 10.
 * At 50 calls a second, holding for 2 s takes 100 environments; holding for 20 s would take them all.
 */
export const HOLD_MS_DEFAULT = 2_000

/**
 * A clock may be this far behind the gateway's, and this far ahead: a cold start of ten seconds lies
 * between the gateway's time and ours.
 */
export const CLOCK_BEHIND_MAX_MS = 5_000
export const CLOCK_AHEAD_MAX_MS = 15_000
/** So two clocks that both pass are at most this far apart. */
export const CLOCKS_APART_MAX_MS = CLOCK_BEHIND_MAX_MS + CLOCK_AHEAD_MAX_MS

/** An idle key is forgotten after three windows, by the slowest clock. */
export const IDLE_WINDOWS = 3

/** How long a process uses the patterns it has read: a change may take this long to have an effect. */
export const PATTERNS_KEPT_MS = 30_000
/**
 * What an answer may take on its way back, after its slot's window has ended. A slot that comes later
 * is wasted: its row may have been deleted meanwhile, and the slot be another's. Twenty times shorter
 * than a row outlives its windows.
 */
export const LATE_SLOT_MS = 1_000
/** Keys of which a process remembers the row: some 300 bytes each. */
export const REMEMBERED_ROWS_MAX = 10_000
/**
 * "Denied" is answered from memory for a tenth of a window at a time (ten asking writes a window and
 * process), never less than a second, and never more than a minute: what a raised limit may take to
 * be felt.
 */
export const DENIAL_WINDOW_SHARE = 10
export const DENIAL_KEPT_MS_MIN = 1_000
export const DENIAL_KEPT_MS_MAX = 60_000

/** A ticket is good from its turn to the end of its window, and at least so long: clients poll. */
export const TICKET_GOOD_MS_MIN = 10_000
/** As long as the hash it keys is strong. */
export const SECRET_BYTES_MIN = 16
/** Of one that is made here: as many as the hash has. */
export const SECRET_BYTES = 32

/** How long a process uses the table's secrets after it has read them. */
export const SECRETS_KEPT_MS = 300_000
/**
 * How long after a change the new secret begins to sign. A process may have read the row just before the
 * change and use that for five minutes; its clock may be twenty seconds behind, another's twenty seconds
 * ahead, and its next read may take some seconds. Twice the five minutes covers all of it. It does not
 * cover the operator's clock, and need not: the change takes its time from the store.
 */
export const SECRET_SETTLES_MS = 2 * SECRETS_KEPT_MS
/** With a change a month, tickets stay good for three. Each costs one more HMAC to refuse a forged ticket. */
export const FORMER_SECRETS_MAX = 3

/** Smooth cursors count from a multiple of this (some two years), so that they stay below 2^53. */
export const SMOOTH_ERA_MS = 2 ** 36
/** A cursor past this begins to count anew. */
export const CURSOR_MAX = 2 ** 52
