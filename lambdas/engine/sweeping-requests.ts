// What callers ask the sweeper for, and what it reports.

export type SweepRequest = {
  readonly queuesMax?: number | undefined
  /** The sweep takes no more queues after this time. Default: a minute from now. */
  readonly deadlineMs?: number | undefined
  /** When to stop waiting for work that may take long (housekeeping, forgetting). Default: the deadline. */
  readonly tidyUntilMs?: number | undefined
  /** Which of the 16 shards this call looks at. Default: all. */
  readonly shards?: readonly number[] | undefined
  /** Called with `nextDueMs`, if there is one, before the sweep begins work that may take long. */
  readonly onNext?: ((dueMs: number) => void) | undefined
}
export type SweepReport = {
  readonly queues: number
  readonly itemsReturned: number
  readonly itemsDeadLettered: number
  /** Items that schedules pushed. */
  readonly occurrencesPushed: number
  /**
   * How long the lock that waited longest had been over, of those that this sweep ended; or how long the earliest
   * timer has been over, of the queues that it met but did not serve.
   */
  readonly lagMs: number
  readonly failed: readonly SweepFailure[]
  /** Something was left for the next run. */
  readonly more: boolean
  /** When the first prompt timer ends, if that is within a minute and a half. */
  readonly nextDueMs?: number
}

/** A queue that the sweep could not serve, or a shard whose timers it could not read. */
export type SweepFailure = {
  readonly queue?: string
  readonly shard?: number
  readonly error: unknown
}

export type AnnounceRequest = {
  /**
   * Says that no run of a consumer is alive anywhere, so the call first ends their locks. If a run is alive after all,
   * its items come twice. Items that wait for their retry go on waiting.
   */
  readonly consumersAreGone?: boolean
  /** Only queues whose ids begin with this. Default: all. */
  readonly prefix?: string | undefined
  /** Where an earlier call stopped. */
  readonly cursor?: string | undefined
  readonly deadlineMs?: number | undefined
}
export type AnnounceReport = {
  /** How many queues it looked at, whether or not it could read them. */
  readonly queues: number
  readonly announced: number
  /** How many it could not announce because of an error; the errors went to `onBackgroundError`. */
  readonly failed: number
  /** There are more queues: go on from here. */
  readonly cursor?: string
}

export type StartTimersReport = {
  readonly queues: number
  readonly started: number
  /** How many it skipped because it could not read or write their records; a later walk comes to them again. */
  readonly failed: number
  /** No further walk is needed, or none would help. */
  readonly finished: boolean
}
