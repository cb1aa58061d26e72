// The bounds that several modules of the engine must agree on, each with the reason for its number. A bound that one
// module alone needs stands there, beside what it bounds.

export * from '../../shared/bounds.ts'
export { REASON_CHARACTERS_MAX } from '../../shared/wire.ts'

/** Locks that one call acknowledges: a request each, side by side. */
export const LOCKS_PER_CALL_MAX = 100
/** Items that one redrive moves: some tens of transactions, within the time of a call. */
export const ITEMS_PER_REDRIVE_MAX = 1_000
/** For lists of queues and of items. */
export const PAGE_DEFAULT = 20
/** 4 MiB as Lambda escapes it: its answers are limited to 6 MB, and the details need room too. */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/**
 * Items in live locks, dead items and hole ranges together. Each can cost the record a range of
 * its own (~60 bytes), so 2,000 of them stay near 120 KB, far from DynamoDB's 400 KB.
 */
export const IN_FLIGHT_MAX = 2_000

/** Each lane costs the record about 80 bytes: 1,000 of them 80 KB, and every write pays for it. */
export const LANES_MAX = 1_000

/**
 * The append that fills the tail to this seals it: the eighth entry of 200 bytes, with which the record
 * is within 2 KB (two write units).
 */
export const TAIL_SOFT_BYTES = 1_560
/**
 * Replaces both bounds if sealed items still lie ahead and the tail holds nothing but references to batches: four of
 * 1,000 items each. Sooner or later a seal makes them rows, and until then each pop of the items ahead pays for them.
 */
export const BULK_TAIL_BYTES = 256
/**
 * Past the hard cap we refuse appends until a process has sealed, which bounds the record's size.
 * Past the soft cap, the append that crosses a further step seals too, in case the first has died.
 * A seal takes two requests, in which a busy queue grows by 3 KB with 8 producers and 14 KB with 32:
 * refusing those would cost more than the larger record does. Once the store throttles, each KB is scarce.
 */
export const ROOMY_TAIL = { hardBytes: 16_384, stepBytes: 8_192 }
export const TIGHT_TAIL = { hardBytes: 4_096, stepBytes: 1_024 }
/** How long one throttled request keeps an engine to the tight tail. */
export const THROTTLED_FOR_MS = 2_000
/** Entries one seal takes: what an expression of 4 KB can remove, at a little over 11 bytes each. */
export const ENTRIES_PER_SEAL = 250
/**
 * The record keeps the marks of this many notes that have left, three bytes each, for pushes with a key that were on
 * their way meanwhile: what a busy queue's pushes fill in some 0.2 s.
 */
export const NOTE_MARKS_KEPT = 64
/** What an entry costs the tail beyond its text, so that the byte cap bounds the count as well. */
export const ENTRY_OVERHEAD_BYTES = 8
/** A push that would add more than this to the tail goes by reference to a batch. */
export const INLINE_BYTES_MAX = 1_024

/** Compressed bytes in one row; DynamoDB's limit is 400 KB with names and keys. */
export const ROW_BYTES_MAX = 350 * 1024
/** Items in one part of a batch: a segment's worth, so that a pop of 100 reads one part. */
export const BATCH_PART_ITEMS = 100
/**
 * A batch this large is cheaper as one S3 object (a PUT is priced as 8 write units) than as rows
 * written and deleted again (2 write units a KB), with room for the GETs.
 */
export const BATCH_TO_S3_BYTES = 12 * 1024

/** Fenced writes whose marks the record remembers, which decides lost answers (rule 5). */
export const MARKS_KEPT = 16

/** Locks that one fenced write ends or folds: what its expressions hold within 4 KB. */
export const LOCKS_PER_WRITE = 40
/** Lanes that the locks ended by one fenced write may touch; one lock may always end. */
export const LOCK_LANES_PER_WRITE = 50
/** Lanes ahead that one condition can name; with more, a pop compares the count of appends. */
export const LANES_AHEAD_NAMED = 40
/** Pushes with a key that one append brings: some 60 bytes and five operators of its condition each. */
export const KEYS_PER_APPEND = 25
/** A claim of this many items fits an answer whatever their size (512 KiB each once escaped). */
export const CLAIM_BLIND_ITEMS = 8
/** With this many dead items, no more expired ones become dead: the other half of the items in flight is for locks. */
export const EXPIRED_DEAD_MAX = IN_FLIGHT_MAX / 2
/** How many items a pop reads at a time once it has met expired ones: a segment, which comes whole anyway. */
export const LOOK_FURTHER_ITEMS = 100

/** Done locks that wait for the next fenced write before an acknowledge folds them itself. */
export const DONE_LOCKS_FOLD = 16
export const DONE_LOCKS_STEP = 8

/** An empty queue is forgotten this long after its last lock ended (repeats are answered till then). */
export const FORGET_AFTER_MS = 10 * 60_000
/**
 * Unless configured otherwise, we announce items that nobody takes again after this long: long enough for
 * a consumer that starts cold and fails once, short enough for a person who waits.
 */
export const REMIND_AFTER_SECONDS = 5 * 60
/** Sooner, a consumer may still be starting cold; and no pause between reminders is longer than an hour. */
export const REMIND_AFTER_SECONDS_MIN = 10
export const REMIND_AFTER_SECONDS_MAX = 3_600
/** When housekeeping could not finish, the sweeper looks again after this long. */
export const HOUSEKEEPING_RETRY_MS = 60_000
/** How long a starving fenced write keeps claims away: some fifty round trips. */
export const HOLD_MS = 300

/** Receipts answer a repeated push for a day unless configured otherwise. */
export const IDEMPOTENCY_TTL_SECONDS = 24 * 60 * 60
/** Sooner, a caller that waits out some trouble before it repeats its push would push twice. */
export const IDEMPOTENCY_TTL_SECONDS_MIN = 60
export const IDEMPOTENCY_TTL_SECONDS_MAX = 30 * 24 * 60 * 60

export const SEGMENT_SIZE_DEFAULT = 100

/** Shards of the sweeper's and the directory's index: 16 × 1,000 index writes a second. */
export const SHARDS = 16
/** With more bytes of reasons waiting in the record, a dead-letter call first helps to move the dead items. */
export const REASON_BYTES_MAX = 16 * 1024
/** Characters kept of a reason while the dead cannot move: 2,000 reasons take 128 KB at worst. */
export const STUCK_REASON_CHARACTERS = 16
/** Remembered records: some thousands of ordinary ones, for a Lambda of 256 MB or less. */
export const REMEMBERED_RECORD_BYTES_MAX = 16 * 1024 * 1024
/** Queues whose dead cannot move for now, as far as one process remembers. */
export const STUCK_QUEUES_REMEMBERED = 1_000
/** Segments and parts of batches last read: a few dozen of ordinary items. */
export const REMEMBERED_ITEM_BYTES_MAX = 8 * 1024 * 1024
/** What one GET reads of a batch: 1,000 ordinary items, which take one millisecond more than 100 of them. */
export const READ_AHEAD_BYTES = 64 * 1024
/** Parts of all batches that were read ahead and that no call has asked for yet. */
export const REMEMBERED_AHEAD_BYTES_MAX = 1024 * 1024
/**
 * Tokens of used transaction entries (8 bytes each). From `TOKENS_KEPT_MAX` on, making an entry forgets
 * all but `TOKENS_KEPT_MIN`: an entry that was handed out stays good while as many others are used. Callers
 * may get many entries before they use any, and then nothing is forgotten. So a record that keeps
 * `TOKENS_MAX` refuses to hand out an entry: a token list may add 2 KB to each write, and no more.
 */
export const TOKENS_KEPT_MAX = 64
export const TOKENS_KEPT_MIN = 32
export const TOKENS_MAX = 256

/** Schedules of one queue: a listing is one page, and if all are due at once, pushing them takes about a second. */
export const SCHEDULES_MAX = 100
/**
 * The shortest interval. A schedule that runs each second would cost some $10 a month and is mostly a mistake in the
 * unit; a hundred of them would take a third of what one record can write.
 */
export const EVERY_SECONDS_MIN = 10
/** Five years of 365.25 days. */
export const EVERY_SECONDS_MAX = 157_766_400
/** Room for five fields that are each a list: far more than people write. */
export const CRON_CHARACTERS_MAX = 256
/** Occurrences of one transaction: what a pop takes. */
export const OCCURRENCES_PER_PUSH = 100
/** How soon the sweeper looks again at a full queue for which an occurrence waits: at its next minute. */
export const FULL_RETRY_MS = 60_000
/** And at a queue that refuses it: only its owner can change that, and each look costs some 20 requests. */
export const REFUSED_RETRY_MS = 10 * 60_000
/** The push that carries the scheduled entries of the record over this seals them. */
export const SCHEDULED_SOFT_BYTES = 2_000
/** Bytes of scheduled entries that an append may bring if it brings several pushes. */
export const SCHEDULED_BYTES_PER_APPEND = 4_000
/**
 * Seals that may pass between a pusher's look at the record and its push. We look for a scheduled item in the rows of
 * that many seals, by key, and mostly find it in the first two.
 */
export const SEALS_BEHIND_MAX = 16
/** How soon the sweeper should move them out. */
export const TIDY_SCHEDULED_MS = 60_000
/** How long due items that find no room wait before the sweeper looks again. */
export const JOIN_RETRY_MS = 60_000
/** Rows that one join takes: some kilobytes each, in one query. */
export const ROWS_PER_JOIN = 40
