/**
 * The bounds of the engine, each with the reason for its number. Those of attempts and rounds stand in
 * `operations/`, beside their loops.
 */

export * from '../../foundation/shared/bounds.ts'

/** Locks that one call acknowledges: a request each, side by side. */
export const LOCKS_PER_CALL_MAX = 100
/** Items that one redrive moves: some tens of transactions, within the time of a call. */
export const ITEMS_PER_REDRIVE_MAX = 1_000
/** Of queues, and of items that are looked at. */
export const PAGE_DEFAULT = 20
/** 4 MiB as Lambda escapes it: its answers are limited to 6 MB, and the details need room too. */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/**
 * Items in live locks, dead items and hole ranges together. Each can cost the record a range of
 * its own (~60 bytes), so 2,000 of them stay near 120 KB, far from DynamoDB's 400 KB.
 */
export const IN_FLIGHT_MAX = 2_000

/** Gaps, until calls with ids leave no more of them: they stay, and the other half is for locks. */
export const GAPS_MAX = IN_FLIGHT_MAX / 2

/** Each lane costs the record about 80 bytes: 1,000 of them 80 KB, and every write pays for it. */
export const LANES_MAX = 1_000

/**
 * The append that fills the tail to this seals it: the eighth entry of 200 bytes, with which the record
 * is within 2 KB (two write units).
 */
export const TAIL_SOFT_BYTES = 1_560
/**
 * A producer that is alone leaves that to its next push, which seals before it appends if it would pass
 * this: eight entries of 200 bytes and no more. Where it never comes, the next to be alone does so at
 * its third push, or the append that crosses the next step.
 */
export const LONE_TAIL_BYTES = 1_770
/**
 * Both, where items are sealed that lie ahead and the tail holds nothing but references to batches: four of 1,000
 * items each. They will be rows whenever it is sealed, and until then each pop of what lies ahead pays for them.
 */
export const BULK_TAIL_BYTES = 256
/**
 * Appends are refused past the hard cap until someone has sealed: what bounds the record's size.
 * Past the soft cap, the append that crosses a further step seals too, should the first have died.
 * A seal takes two requests, in which a busy queue grows by 3 KB with 8 producers and 14 KB with 32:
 * refusing those would cost more than the larger record does. Once the store throttles, each KB is scarce.
 */
export const ROOMY_TAIL = { hardBytes: 16_384, stepBytes: 8_192 }
export const TIGHT_TAIL = { hardBytes: 4_096, stepBytes: 1_024 }
/** How long one throttled request keeps an engine to the tight tail. */
export const THROTTLED_FOR_MS = 2_000
/** Entries one seal takes: what an expression of 4 KB can remove, at 11 bytes each and some. */
export const ENTRIES_PER_SEAL = 250
/** Notes whose receipts one seal writes, of a row each: four requests, side by side. */
export const NOTES_PER_SEAL = 100
/** Expired ones that any fenced write takes along, beside what else it does: about as many as a record has. */
export const NOTES_PER_WRITE = 25
/**
 * A note this old is made a receipt by the next that sees it, full tail or not: an hour of writes to the record has
 * paid for it, and its receipt costs the same now and later.
 */
export const NOTES_OLD_MS = 60 * 60_000
/**
 * Marks of notes that have left which the record keeps, three bytes each, for pushes with a key that were on their
 * way meanwhile: some 0.2 s of a busy queue's.
 */
export const NOTE_MARKS_KEPT = 64
/**
 * How far the clocks of two processes may differ about the end of a key's time: far more than they ever do, and
 * still little of a key's day.
 */
export const CLOCKS_APART_SECONDS = 60 * 60
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
/** Ended locks the record remembers, so that a repeated acknowledge gets its answer again. */
export const ENDED_KEPT = 16

/** Locks that one fenced write ends or folds: what its expressions hold within 4 KB. */
export const LOCKS_PER_WRITE = 40
/** Retry locks of some 40 bytes that a record has before releases share them: 1 KB, or a write unit. */
export const RETRY_LOCKS_APART = 16
/** Ranges of a retry lock that releases share: as many as a lock of a pop may have, all ended by one write. */
export const RETRY_STRETCHES_MAX = 100
/** Lanes that the locks of one fenced write may touch, beside what else it does; one lock always. */
export const LOCK_LANES_PER_WRITE = 50
/** Lanes ahead that one condition can name; with more, a pop compares the count of appends. */
export const LANES_AHEAD_NAMED = 40
/**
 * Lanes one append names in one expression (some 27 bytes of its condition each, of 4 KB, beside those of its
 * keys); with more, it replaces all under a full compare.
 */
export const LANES_PER_APPEND = 40
/** Pushes with a key that one append brings: some 60 bytes and five operators of its condition each. */
export const KEYS_PER_APPEND = 25
/** Lanes that one fenced write changes (24 bytes of expression each, and twice that at worst). */
export const LANES_PER_WRITE = 80
/** Lanes that one write takes named items from: four attributes and a condition of each, some 80 bytes. */
export const LANES_PER_CALL_BY_ID = 40
/** A claim of this many items fits an answer whatever their size (512 KiB each once escaped). */
export const CLAIM_BLIND_ITEMS = 8

/**
 * Expired items that one write takes out of the queue: a stretch of numbers costs the record nothing, but they were
 * read for it, five segments here. Dead ones stay in the record until they have moved, a hundred at a time.
 */
export const EXPIRED_PER_WRITE = { discarded: 500, dead: 100 }
/** Lanes that those may be in: some 100 bytes of expression each at worst, beside what else the write does. */
export const EXPIRED_LANES_PER_WRITE = 20
/** Dead items from which on no more expired ones become dead: the other half of those in flight is left to locks. */
export const EXPIRED_DEAD_MAX = IN_FLIGHT_MAX / 2
/** What a pop reads at a time once it has met expired items: a segment, which comes whole anyway. */
export const LOOK_FURTHER_ITEMS = 100

/** Done locks that wait for the next fenced write before an acknowledge folds them itself. */
export const DONE_LOCKS_FOLD = 16
export const DONE_LOCKS_STEP = 8

/** An empty queue is forgotten this long after its last lock ended (repeats are answered till then). */
export const FORGET_AFTER_MS = 10 * 60_000
/**
 * Items that nobody takes are announced again after this long, unless configured otherwise: long enough
 * for a consumer that starts cold and fails once, short enough for somebody who waits.
 */
export const REMIND_AFTER_SECONDS = 5 * 60
/** When housekeeping could not finish, the sweeper looks again after this long. */
export const HOUSEKEEPING_RETRY_MS = 60_000
/** How long a starving fenced write keeps claims away: some fifty round trips. */
export const HOLD_MS = 300

/** Receipts answer a repeated push for a day unless configured otherwise. */
export const IDEMPOTENCY_TTL_SECONDS = 24 * 60 * 60

export const SEGMENT_SIZE_DEFAULT = 100
/** Offloading holds a segment in memory: 250 items of 256 KiB are 64 MB. */
export const SEGMENT_SIZE_MAX = 250
export const BUFFER_SEGMENTS_DEFAULT = 1
export const BUFFER_SEGMENTS_MAX = 100
/** Stands for "no capacity set" in `room`: exact as a number, and never used up. */
export const ROOM_UNLIMITED = 1_000_000_000_000_000

/** Shards of the sweeper's and the directory's index: 16 × 1,000 index writes a second. */
export const SHARDS = 16
export { REASON_CHARACTERS_MAX } from '../../foundation/shared/reason.ts'
/** Reasons that wait in the record before a dead-letter call first helps to move them. */
export const REASON_BYTES_MAX = 16 * 1024
/** Characters kept of a reason while the dead cannot move: 2,000 reasons take 128 KB at worst. */
export const STUCK_REASON_CHARACTERS = 16
/** Pieces of delivery counts in a record (some 12 bytes each), shared by its lanes. */
export const DELIVERY_PIECES_MAX = 2_000
/** Records as last seen: some thousands of ordinary ones, in a Lambda of 256 MB and less. */
export const REMEMBERED_RECORD_BYTES_MAX = 16 * 1024 * 1024
/** Queues whose dead cannot move for now, or whose items for later cannot join, as far as one process remembers. */
export const STUCK_QUEUES_REMEMBERED = 1_000
/** Segments and parts of batches last read: a few dozen of ordinary items. */
export const REMEMBERED_ITEM_BYTES_MAX = 8 * 1024 * 1024
/** What one GET brings of a batch: 1,000 ordinary items, which takes a millisecond more than 100 of them. */
export const READ_AHEAD_BYTES = 64 * 1024
/** The same for all batches, as far as no call has asked for it yet. */
export const REMEMBERED_AHEAD_BYTES_MAX = 1024 * 1024
/**
 * Tokens of used transaction entries (8 bytes each). From `TOKENS_KEPT_MAX` on, making an entry forgets
 * all but `TOKENS_KEPT_MIN`: an entry that was handed out stays good while as many others are used. Many
 * may be handed out before any is used, and nobody forgets then; so a record that keeps `TOKENS_MAX`
 * refuses an entry, for 2 KB is what a token list may add to each write.
 */
export const TOKENS_KEPT_MAX = 64
export const TOKENS_KEPT_MIN = 32
export const TOKENS_MAX = 256
/** Tokens that one update forgets: eight bytes of expression each, of 4 KB. */
export const TOKENS_PER_UPDATE = 200

/** Schedules of one queue: a listing is one page, and what is due of them at one time takes about a second. */
export const SCHEDULES_MAX = 100
/**
 * The shortest interval. A schedule that runs each second would cost some $10 a month and is mostly a mistake in the
 * unit; a hundred of them would take a third of what one record can write.
 */
export const EVERY_SECONDS_MIN = 10
/** Five years of 365.25 days. */
export const EVERY_SECONDS_MAX = 157_766_400
/** An expression of five fields, each a list of its own: far more than people write. */
export const CRON_CHARACTERS_MAX = 256
/**
 * From then on an occurrence counts as missed. The sweeper comes once a minute, and works for part of it: one
 * failed run must not cost an occurrence.
 */
export const MISSED_AFTER_MS = 3 * 60_000
/** Missed occurrences that `missed: all` pushes, the newest: as many as one push has, in ten transactions. */
export const MISSED_ALL_MAX = 1_000
/** The last second of the year 9999: later ones no calendar and no form of a date agrees on. */
export const SCHEDULED_UNTIL_MS = Date.UTC(9999, 11, 31, 23, 59, 59)
/** Occurrences of one transaction: what a pop takes. */
export const OCCURRENCES_PER_PUSH = 100
/** When a full queue is looked at again for an occurrence that waits: the sweeper's minute. */
export const FULL_RETRY_MS = 60_000
/** And a queue that refuses it: that passes only when its owner acts, and each look costs some 20 requests. */
export const REFUSED_RETRY_MS = 10 * 60_000
/**
 * Pairs of time and priority that one push may schedule items for: its entries must fit beside each other into the
 * record, for all of them come in one write.
 */
export const TIMES_PER_PUSH_MAX = 64
/**
 * What a scheduled entry counts for beyond its text: so 8,000 bytes are 97 at most, and their rows fit one transaction.
 */
export const SCHEDULED_ENTRY_BYTES = 48
/** The push that carries the scheduled entries of the record over this seals them. */
export const SCHEDULED_SOFT_BYTES = 2_000
/** Past this, pushes of scheduled items wait until a process has sealed. */
export const SCHEDULED_HARD_BYTES = 8_000
/** Of scheduled entries that one append may bring, where it brings several pushes. */
export const SCHEDULED_BYTES_PER_APPEND = 4_000
/**
 * Seals that may pass between a pusher's look at the record and its push: a scheduled item is looked for in the rows
 * of as many, by their keys, and mostly in the first two.
 */
export const SEALS_BEHIND_MAX = 16
/** Scheduled items from which on the record is to have none of their entries: a hundred rows. */
export const SCHEDULED_LARGE = 500
/** And how soon. */
export const TIDY_SCHEDULED_MS = 60_000
/** How long what is due and finds no room or no lane waits before the sweeper looks again. */
export const JOIN_RETRY_MS = 60_000
/** Rows that one join takes: some kilobytes each, in one query. */
export const ROWS_PER_JOIN = 40
/** Entries that one join takes out of the record or rows: each is some bytes of its expression, or of its batch. */
export const ENTRIES_PER_JOIN = 200
/** Priorities of one join: it may have to make the lanes of all of them. */
export const LANES_PER_JOIN = 20
