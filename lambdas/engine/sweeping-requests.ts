// What callers ask the sweeper for, and what it reports.

export type SweepRequest = {
  readonly queuesMax?: number | undefined
  /** Take no more queues after this time; a minute from now unless set. */
  readonly deadlineMs?: number | undefined
  /** Leave what may take long (housekeeping, forgetting) at this time; the deadline unless set. */
  readonly tidyUntilMs?: number | undefined
  /** Of the 16 that queues are spread over, those that this call looks at; all unless set. */
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
   * How long the lock that waited longest had been over, of those that were ended; and of the queues
   * that were met and not served, how long the timer of the first has been.
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
   * No run of a consumer is alive anywhere: their locks end first. If a run is alive after all, its items come
   * twice. Items that wait for their retry go on waiting.
   */
  readonly consumersAreGone?: boolean
  /** Of the ids; all queues unless set. */
  readonly prefix?: string | undefined
  /** Where an earlier call stopped. */
  readonly cursor?: string | undefined
  readonly deadlineMs?: number | undefined
}
export type AnnounceReport = {
  /** Looked at, whether or not they could be read. */
  readonly queues: number
  readonly announced: number
  /** Not announced because of an error; the errors went to `onBackgroundError`. */
  readonly failed: number
  /** There are more queues: go on from here. */
  readonly cursor?: string
}

export type StartTimersReport = {
  readonly queues: number
  readonly started: number
  /** Passed, because their records could not be read or written; a later walk comes to them again. */
  readonly failed: number
  /** No further walk is needed, or none would help. */
  readonly finished: boolean
}
