// The verbs that callers have for settings and schedules, and those that only our own functions call: the inbox, the
// sweeper, Wake and housekeeping. What each takes, and what it answers. Types alone.

import type { PushItem } from './core/check-requests.ts'
import type { Sequence } from './core/repeated-pushes.ts'
import type { Schedule, ScheduleInput } from './core/schedule.ts'
import type {
  Configuration,
  ConfigurationChange,
  QueuePatternInput,
  QueuePatterns,
} from './core/settings.ts'
import type { Pushed } from './item-verbs.ts'

/** A message that the inbox brought for a queue. */
export type InboxMessage = {
  readonly sequence: Sequence
  readonly items: readonly PushItem[]
  /** If the queue's room or its limit has not let it in by then, it stops waiting. */
  readonly waitsUntilMs: number
} & (
  | { readonly kind: 'push'; readonly idempotencyKey?: string }
  /** It cannot be pushed: these are its dead letters. */
  | { readonly kind: 'refused'; readonly reason: string }
)

export type Applied = {
  /** How many messages, counted from the first, need not come again. */
  readonly settled: number
  /** How many of those it pushed now, how many it had pushed before, and how many it dead-lettered or gave up. */
  readonly pushed: number
  readonly repeated: number
  readonly refused: number
  readonly itemsPushed: number
  /** Those of them that are for later. */
  readonly itemsScheduled: number
  readonly itemsDeadLettered: number
  /** Why the next message, and every one behind it, has to come again. */
  readonly error?: unknown
}

export interface ApplyingVerbs {
  /**
   * Applies the messages of a queue in order, each once, however often SQS delivers them: the record says how
   * many it has applied.
   */
  apply(
    queue: string,
    messages: readonly InboxMessage[],
    request?: {
      readonly deadlineMs?: number
      /** Keeps a message that could not be pushed to a dead-letter queue, which has no dead letters of its own. */
      readonly giveUp?: (message: InboxMessage, reason: string) => Promise<void>
    },
  ): Promise<Applied>
}

export type DeployedPatterns = QueuePatterns & { readonly replaced?: QueuePatterns }

/** The verbs about settings, of one queue and of prefixes. */
export interface ConfiguringVerbs {
  /** The queue's settings, or those that a push would give it now. */
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    /** The revision of its own settings, or the tag of any (`configurationTag`). */
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** Removes the queue's own settings, so that those of its pattern, or the defaults, apply again. */
  unconfigure(
    queue: string,
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** The settings of prefixes. A queue without its own settings takes those of the longest prefix that matches. */
  patterns(): Promise<QueuePatterns>
  /** Replaces them all. New queues get the new settings within 30 s, existing queues within a few minutes. */
  configurePatterns(
    patterns: readonly QueuePatternInput[],
    request?: { readonly ifMatch?: number | undefined },
  ): Promise<QueuePatterns>
  /** The same for a deployment's patterns, once for each hash. If it replaced any, `replaced` holds the old ones. */
  deployPatterns(patterns: readonly QueuePatternInput[], hash: string): Promise<DeployedPatterns>
}

type IfMatch = { readonly ifMatch?: string | undefined }

export type ScheduleName = Pick<Schedule, 'queue' | 'name'>
/** A schedule that a deployment brings. */
export type DeployedSchedule = ScheduleName & ScheduleInput

export type DeployedSchedules = {
  /** No earlier call had applied the whole deployment. */
  readonly isNew: boolean
  /** Something is left, because it failed or the time was up: call again. */
  readonly more: boolean
  readonly results: readonly DeployedResult[]
}

export type DeployedResult = ScheduleName &
  (
    | { readonly result: 'as_it_was' | 'put' | 'deleted' | 'gone' }
    /** A caller had put it differently from the deployment. */
    | { readonly result: 'replaced'; readonly before: Schedule }
    /** The deployment no longer has it, but a caller has put it since, so it stays. */
    | { readonly result: 'kept' }
    | { readonly result: 'failed'; readonly error: unknown }
  )

/** The verbs for schedules, which push to a queue by the clock. */
export interface SchedulingVerbs {
  /** With its item. */
  schedule(queue: string, name: string): Promise<Schedule & { readonly text: string }>
  /** By name, without their items. */
  schedules(queue: string): Promise<readonly Schedule[]>
  /** Makes it, or replaces it as a whole. If its times stay the same, they go on. */
  putSchedule(
    queue: string,
    name: string,
    input: ScheduleInput,
    /** The tag that the schedule must have. */
    request?: IfMatch,
  ): Promise<Schedule & { readonly text: string }>
  /** Returns whether there was one. The items that it pushed stay. */
  deleteSchedule(queue: string, name: string, request?: IfMatch): Promise<boolean>
  /** Pushes its item now, once, paused or not; its times stay as they are. */
  runSchedule(queue: string, name: string): Promise<Pushed>
  pauseSchedule(queue: string, name: string): Promise<Schedule>
  resumeSchedule(queue: string, name: string): Promise<Schedule>
  /**
   * If the hash is new, puts the schedules that a deployment brings, and deletes those that earlier deployments brought
   * and that no caller has changed.
   */
  deploySchedules(
    schedules: readonly DeployedSchedule[],
    hash: string,
    /** We send nothing after this time. */
    request?: { readonly deadlineMs?: number | undefined },
  ): Promise<DeployedSchedules>
}

/** What nobody asks for, but time. */
export interface UpkeepVerbs {
  /** Seals, offloads, recalls, trims and dead-letters what the record says is due. */
  housekeep(queue: string, request?: HousekeepRequest): Promise<HousekeepReport>
  /** Ends expired locks of due queues. Each run is bounded, and the next one goes on where it ended. */
  returnExpiredLocks(request?: SweepRequest): Promise<SweepReport>
  /**
   * Stays awake and ends locks to the second for as long as some end soon. Only one caller at a time does so; others
   * leave their requests to that one.
   */
  wake(request: WakeRequest): Promise<WakeReport>
  /** Announces every queue that has items and no consumer at work, for consumers that were repaired or are new. */
  announceWaiting(request?: AnnounceRequest): Promise<AnnounceReport>
  /** Gives a timer to queues whose items came without one. Once a day, a walk through all queues is due. */
  startTimers(request: { readonly deadlineMs: number }): Promise<StartTimersReport>
}

export type HousekeepReport = {
  readonly sealed: number
  readonly offloaded: number
  readonly recalled: number
  readonly trimmed: number
  readonly deadLettered: number
  /** False if this run had to leave something undone. */
  readonly finished: boolean
}

export type HousekeepRequest = {
  /**
   * Leaves dead items that this process failed to move within the last minute to the sweeper: for a
   * caller that comes with every change of the queue.
   */
  readonly leaveStuck?: boolean | undefined
}

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

export type WakeRequest = {
  /** Something comes due at this time, whether or not the index of timers shows it yet. */
  readonly untilMs?: number | undefined
  /** We know that the run that was awake has ended, so this one does not wait for the end of its lease. */
  readonly takesOver?: boolean | undefined
  /** When the caller has to end. */
  readonly deadlineMs: number
}
export type WakeReport = Pick<
  SweepReport,
  'queues' | 'itemsReturned' | 'occurrencesPushed' | 'lagMs'
> & {
  /** Another run is awake, and has our note. */
  readonly left: boolean
  readonly looks: number
  readonly failed: number
}
