// Every metric as plain data. Functions, dashboard and alarms share it, so they cannot disagree about a
// name.

export const METRIC_NAMESPACE = 'PushPop'

/** The one dimension: the stack's name. Never the queue, of which there may be any number. */
export const SERVICE_DIMENSION = 'Service'

type MetricUnit = 'Count' | 'Seconds' | 'Milliseconds'

export const metrics = {
  ItemsPushed: 'Count',
  /** Pushed items that are for later. */
  ItemsScheduled: 'Count',
  ItemsPopped: 'Count',
  ItemsAcknowledged: 'Count',
  /** Released by a consumer or returned by the sweeper; not items that a pop took from an expired lock. */
  ItemsReturned: 'Count',
  ItemsDeadLettered: 'Count',
  /** Expired items that were taken out of their queues: discarded, or on their way to the dead letters. */
  ItemsExpired: 'Count',
  /** Items that were accepted for the inbox (202). Once applied, they count as pushed. */
  InboxAccepted: 'Count',
  /** Items that came out of the inbox into their queues. */
  InboxApplied: 'Count',
  /** Inbox messages that could not be pushed, and went to the dead letters. */
  InboxRefused: 'Count',
  /**
   * How long the oldest message has been in the inbox. SQS's own metric leaves out messages that it delivered often.
   */
  InboxWaiting: 'Seconds',
  /** Conditions that did not hold, and transactions that met others: mostly lost races. */
  Conflicts: 'Count',
  /** Requests to DynamoDB, including repeated ones. */
  Attempts: 'Count',
  SegmentsOffloaded: 'Count',
  SegmentsRecalled: 'Count',
  /** The slowest read of a segment, or of a part of a batch, from S3. */
  SegmentLoadTime: 'Milliseconds',
  /** Reads from S3 that failed after all their attempts. */
  SegmentLoadFailures: 'Count',
  /** Segments that could not be copied to S3; housekeeping tries again. */
  SegmentOffloadFailures: 'Count',
  /** Queues whose housekeeping failed, to be tried again. */
  HousekeepingFailures: 'Count',
  /** Records of a newer format in the stream: deploy that version here as well. */
  FormatsUnknown: 'Count',
  /** Queues that the sweeper could not finish, and runs that could not even begin. */
  SweepFailures: 'Count',
  /** How long the lock, or the queue that was not served, that waited longest had been due. */
  LockReturnLag: 'Seconds',
  /** How long the oldest item of a pop had waited. */
  OldestItemAge: 'Seconds',
  /** Pops that took longer than `SLOW_CALL_MS`, not counting the time for which their callers asked them to wait. */
  SlowPops: 'Count',
  /** Answers that are our fault: 500 and 503. */
  Errors5xx: 'Count',
} as const satisfies Readonly<Record<string, MetricUnit>>

/** An ordinary call takes some 20 ms, a cold start less than a second: what takes longer is slow. */
export const SLOW_CALL_MS = 2_000

export type MetricName = keyof typeof metrics
