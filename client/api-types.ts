// What the service answers, from docs/openapi.json by `npm run client-types`. Not to be edited.

/** Every error of the service. */
export type ErrorBody = {
  readonly success: false
  readonly error_code:
    | 'INVALID_QUEUE_ID'
    | 'INVALID_JSON'
    | 'INVALID_ITEM'
    | 'INVALID_PRIORITY'
    | 'INVALID_COUNT'
    | 'INVALID_TTL'
    | 'INVALID_PARAMETER'
    | 'UNKNOWN_FIELD'
    | 'INVALID_LOCK_ID'
    | 'OVERRIDE_REFUSED'
    | 'LOCK_NOT_FOUND'
    | 'TICKET_NOT_FOUND'
    | 'SCHEDULE_NOT_FOUND'
    | 'NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'TOO_MANY_SCHEDULES'
    | 'LOCK_EXPIRED'
    | 'VERSION_MISMATCH'
    | 'ITEM_TOO_LARGE'
    | 'BODY_TOO_LARGE'
    | 'UNSUPPORTED_MEDIA_TYPE'
    | 'IDEMPOTENCY_CONFLICT'
    | 'QUEUE_LOCKED'
    | 'QUEUE_FULL'
    | 'TOO_MANY_PRIORITIES'
    | 'TOO_MANY_LOCKS'
    | 'RATE_LIMITED'
    | 'INTERNAL'
    | 'FORMAT_UNKNOWN'
    | 'BUSY'
    | 'STORE_UNAVAILABLE'
    | 'SEGMENT_UNAVAILABLE'
  /** What to do; it names the field that is wrong. */
  readonly message: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  readonly request_id: string
  /** The field, parameter or header. */
  readonly field?: string
  /** With 413. */
  readonly limit_bytes?: number
  /** With 423. Epoch seconds with a fraction. */
  readonly lock_expires_at?: number
  /** The change may have been made anyway. */
  readonly outcome?: 'unknown'
  /** With `RATE_LIMITED`, of a rate limit’s key. */
  readonly allowed?: false
  /** With `RATE_LIMITED`. */
  readonly retry_after_ms?: number
  /** More on what happened, and on what to do. */
  readonly hint?: string
}

export type Pushed = {
  readonly success: true
  /** How many items. */
  readonly items_pushed: number
  /** In the order of the request. Empty when a repeated push comes so late that its items are gone. */
  readonly ids: readonly string[]
}

export type ItemDetails = {
  /** Opaque; the same at push, peek and pop, but for an item for later. */
  readonly id: string
  /** 0 is served first. */
  readonly priority: number
  /** When it was pushed. Epoch seconds with a fraction. */
  readonly pushed_at: number
  /** 1 the first time. */
  readonly deliveries: number
  /** From then on, no pop returns it. Epoch seconds with a fraction. */
  readonly expires_at?: number
  /** The id of an item for later until it was due. */
  readonly scheduled_id?: string
  /** When it was due, if it was for later or a schedule pushed it. Epoch seconds with a fraction. */
  readonly due_at?: number
  /** Why it was dead-lettered. */
  readonly reason?: string
  /** When it came to this dead-letter queue. Epoch seconds with a fraction. */
  readonly dead_lettered_at?: number
  /** How often it had been delivered when it was dead-lettered. */
  readonly prior_deliveries?: number
}

export type PoppedItems = {
  /** The items’ own JSON, byte for byte. */
  readonly items: readonly unknown[]
  /** How many items. */
  readonly count: number
  /** `details[i]` belongs to `items[i]`. */
  readonly details: readonly ItemDetails[]
  /** There is more: the answer was full before `count` was reached, the pop passed over so many expired items that it stopped, or others were faster than it after it had acknowledged. */
  readonly more?: true
  /** How many items the lock had that `acknowledge` named. */
  readonly items_acknowledged?: number
}

export type Configuration = {
  /** Items per segment, for lanes made from now on. */
  readonly segment_size: number
  /** Segments kept near the head before others go to S3. */
  readonly buffer_segments: number
  /** An item that comes back this often is dead-lettered. */
  readonly max_deliveries: number | null
  /** Items the queue may hold. */
  readonly capacity: number | null
  /** No pop returns an item this long after it was pushed, or was due. */
  readonly item_ttl_seconds: number | null
  /** What happens to items that expire, by that or by their own time. */
  readonly expired: 'discard' | 'dead_letter' | null
  /** How many calls may push. */
  readonly push_limit: Limit | null
  /** How many calls may pop. */
  readonly pop_limit: Limit | null
  /** Where the settings come from: the first of these that exists. */
  readonly source: ConfigurationSource
}

/** Where the settings come from: the first of these that exists. */
export type ConfigurationSource = {
  readonly from: 'queue' | 'pattern' | 'default'
  /** Of the pattern. */
  readonly prefix?: string
}

export type Limit = {
  /** Requests that may go in one window. */
  readonly max_requests: number
  /** How long a window is. */
  readonly window_millis: number
  /** `smooth`: no double burst at a window’s edge. */
  readonly algorithm: 'window' | 'smooth'
  /** With `smooth`: requests that may go at once after a rest. */
  readonly burst: number
}

export type LimitInput = {
  readonly max_requests: number
  /** How long a window is. Default 1,000. */
  readonly window_millis?: number
  /** `smooth`: no double burst at a window’s edge. Default `window`. */
  readonly algorithm?: 'window' | 'smooth'
  /** With `smooth`: requests that may go at once after a rest. Default 1. */
  readonly burst?: number
}

export type QueuePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly {
    readonly prefix: string
    /** Items per segment, for lanes made from now on. */
    readonly segment_size: number
    /** Segments kept near the head before others go to S3. */
    readonly buffer_segments: number
    /** An item that comes back this often is dead-lettered. */
    readonly max_deliveries: number | null
    /** Items the queue may hold. */
    readonly capacity: number | null
    /** No pop returns an item this long after it was pushed, or was due. */
    readonly item_ttl_seconds: number | null
    /** What happens to items that expire, by that or by their own time. */
    readonly expired: 'discard' | 'dead_letter' | null
    /** How many calls may push. */
    readonly push_limit: Limit | null
    /** How many calls may pop. */
    readonly pop_limit: Limit | null
  }[]
}

export type Schedule = {
  readonly name: string
  readonly cron?: string
  /** Of `cron`. */
  readonly time_zone?: string
  /** The interval. */
  readonly every_seconds?: number
  /** 0 is served first. */
  readonly priority: number
  /** Not due before. Epoch seconds with a fraction. */
  readonly starts_at?: number
  /** Not due after. Epoch seconds with a fraction. */
  readonly ends_at?: number
  readonly missed: 'skip' | 'one' | 'all'
  readonly paused: boolean
  /** When it is due next, or was due if the occurrence waits. Absent while it is paused, and once it has ended. Epoch seconds with a fraction. */
  readonly next_at?: number
  /** When the last occurrence that was pushed was due. Epoch seconds with a fraction. */
  readonly last_at?: number
  /** The occurrence that is due waits, because the queue had no room for it or refused it. */
  readonly waiting?: 'queue_full' | 'refused'
  /** A deployment has put it (`PushPopSchedule`), and no call has replaced it since. */
  readonly deployed?: true
  /** Why the queue refused it. */
  readonly refused?: string
  /** For `If-Match`; the same as the header `ETag`. */
  readonly etag: string
}

export type ScheduleWithItem = Schedule & {
  /** What is pushed, byte for byte. */
  readonly item: unknown
}

export type RateConfiguration = Limit & {
  /** Requests that may wait for later windows. */
  readonly max_requests_in_queue: number
  /** Parts of a busy key, each with its own order and its share of the limit; always 1 for a prefix. */
  readonly shards: number
  /** Whether a call may bring its own limit. */
  readonly allow_overrides: boolean
}

export type RatePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly (RateConfiguration & {
    readonly prefix: string
  })[]
}

export type RateWindow = {
  /** When it begins. Epoch seconds with a fraction. */
  readonly start: number
  /** When it is over. Epoch seconds with a fraction. */
  readonly end: number
}

/** What the service can answer instead. */
export type ErrorCode = ErrorBody['error_code']

/** Push one item or up to 1,000. */
export type PushAnswer =
  | Pushed
  | {
      readonly success: true
      /** How many items. */
      readonly accepted: number
      /** Names the message in the inbox, for your logs. */
      readonly message_id: string
    }

/** Pop the next items. */
export type PopAnswer =
  | PoppedItems
  | (PoppedItems & {
      readonly locked: true
      /** 8 random bytes, URL-safe. */
      readonly lock_id: string
      /** When the items come back by themselves. Epoch seconds with a fraction. */
      readonly lock_expires_at: number
      /** The value used. */
      readonly ttl_seconds: number
    })
  | (PoppedItems & {
      readonly locked: false
    })

/** Acknowledge a lock, some of it, or many locks. */
export type AcknowledgeAnswer =
  | {
      readonly success: true
      readonly message: string
      /** How many items. */
      readonly items_acknowledged: number
    }
  | {
      /** Whether every lock was acknowledged. */
      readonly success: boolean
      readonly message: string
      /** Over all locks. */
      readonly items_acknowledged: number
      /** In the order of `lock_ids`. */
      readonly results: readonly (
        | {
            readonly lock_id: string
            readonly success: true
            /** How many items. */
            readonly items_acknowledged: number
          }
        | {
            readonly lock_id: string
            readonly success: false
            readonly error_code:
              | 'LOCK_NOT_FOUND'
              | 'LOCK_EXPIRED'
              | 'INVALID_LOCK_ID'
              | 'STORE_UNAVAILABLE'
            readonly message: string
            readonly retryable: boolean
          }
      )[]
    }

/** Give a lock more time. */
export type ExtendLockAnswer = {
  readonly success: true
  /** 8 random bytes, URL-safe. */
  readonly lock_id: string
  /** The new expiry. Epoch seconds with a fraction. */
  readonly lock_expires_at: number
  /** The value used. */
  readonly ttl_seconds: number
}

/** Give items back, at once or later. */
export type ReleaseAnswer = {
  readonly success: true
  /** How many items. */
  readonly items_released: number
}

/** Move items to the dead-letter queue. */
export type DeadLetterAnswer = {
  readonly success: true
  /** How many items. */
  readonly items_dead_lettered: number
  readonly dead_letter_queue: string
}

/** The state of a queue. */
export type InspectAnswer = {
  readonly id: string
  /** Rises whenever the structure of the queue changes. */
  readonly version: number
  /** Items stored and not settled, including locked and waiting ones. */
  readonly count: number
  /** Items in live locks. */
  readonly locked_count: number
  /** Items released with a delay that is not yet over. */
  readonly waiting_count: number
  /** Until when these keep back the others from pops that do not compete, if they do. Epoch seconds with a fraction. */
  readonly blocked_until?: number
  /** Items on their way to `{id}-deadletter`, for a moment; not in `count`. */
  readonly dead_count: number
  /** Items for later; not in `count`. */
  readonly scheduled_count: number
  /** When the first of them is due; absent if there are none. If that is long past, the queue has no room for it. Epoch seconds with a fraction. */
  readonly next_due_at?: number
  /** When the oldest item was pushed; null if none waits. Left out if that takes more than one read, unless oldest=true. Epoch seconds with a fraction. */
  readonly oldest_pushed_at?: number | null
  readonly priorities: readonly {
    /** 0 is served first. */
    readonly priority: number
    /** Items of this priority. */
    readonly count: number
    /** Where the next item is. */
    readonly head_segment: number
    /** Where the last item is. */
    readonly tail_segment: number
    /** The first of the longest stretch of whole segments in the middle that lies in S3, however it came there; `null` if none does. */
    readonly head_offloaded_segment: number | null
    /** The last of that stretch; `null` if there is none. */
    readonly tail_offloaded_segment: number | null
    /** Random; a priority that is dropped and comes back has another. */
    readonly epoch: string
    /** Items in a segment of this priority. */
    readonly segment_size: number
    /** The lowest number not settled. Items are numbered from 0 in the order of pushes. */
    readonly head: number
    /** The lowest number never handed out. */
    readonly frontier: number
    /** From this number on, the items or references to them are in the queue’s record. */
    readonly sealed: number
    /** The number that the next item gets. */
    readonly end: number
    /** Where the numbers from head to end lie: 200 stretches at most, in order, neighbours joined, as far as the record knows. */
    readonly stored: readonly {
      /** Its first number. */
      readonly from: number
      /** The number after its last. */
      readonly to: number
      /** `record`: in the queue’s record. `rows`: in rows of the table. `batch-rows`, `batch-s3`: where the bulk push that brought it put it. `s3`: in a segment that was offloaded. `recalled`: in such a segment, and in rows again. */
      readonly in: 'record' | 'rows' | 'batch-rows' | 'batch-s3' | 's3' | 'recalled'
    }[]
  }[]
  /** Live locks, without their ids. */
  readonly locks: readonly {
    /** When its items come back. Epoch seconds with a fraction. */
    readonly lock_expires_at: number
    /** Its items. */
    readonly count: number
    readonly priorities: readonly number[]
  }[]
  readonly configuration: Configuration
}

/** The next items, without taking them. */
export type BrowseAnswer = {
  /** The items’ own JSON, byte for byte. */
  readonly items: readonly unknown[]
  /** How many items. */
  readonly count: number
  readonly details: readonly (ItemDetails & {
    readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
    /** For a waiting item: when it comes back. Epoch seconds with a fraction. */
    readonly retry_at?: number
  })[]
  /** For the next page; absent on the last. */
  readonly cursor?: string
}

/** Items for later, in the order of time. */
export type ScheduledAnswer = {
  /** The items’ own JSON, byte for byte. */
  readonly items: readonly unknown[]
  /** How many items. */
  readonly count: number
  /** `details[i]` belongs to `items[i]`. */
  readonly details: readonly {
    /** The id that its push returned. */
    readonly id: string
    /** 0 is served first. */
    readonly priority: number
    /** When it was pushed. Epoch seconds with a fraction. */
    readonly pushed_at: number
    /** When it joins its queue. Epoch seconds with a fraction. */
    readonly due_at: number
  }[]
  /** For the next page; absent on the last. */
  readonly cursor?: string
}

/** The configuration of a queue. */
export type ConfigurationAnswer = Configuration

export type ConfigureBody = {
  /** Items per segment, for lanes made from now on. Default 100. */
  readonly segment_size?: number
  /** Segments kept near the head before others go to S3. Default 1. */
  readonly buffer_segments?: number
  /** An item that comes back this often is dead-lettered. `null`: never. */
  readonly max_deliveries?: number | null
  /** Items the queue may hold. `null`: no limit. */
  readonly capacity?: number | null
  /** No pop returns an item this long after it was pushed, or was due. Counts from the moment it is set, for all items. `null`: they stay. */
  readonly item_ttl_seconds?: number | null
  /** What happens to items that expire, by that or by their own time. `null`: they are discarded. */
  readonly expired?: 'discard' | 'dead_letter' | null
  /** How many calls may push. A new one replaces the old. `null`: no limit. */
  readonly push_limit?: LimitInput | null
  /** How many calls may pop. A new one replaces the old. `null`: no limit. */
  readonly pop_limit?: LimitInput | null
  /** As a GET returned it; it changes nothing. */
  readonly source?: ConfigurationSource
}

/** Change the configuration of a queue. */
export type ConfigureAnswer = Configuration

/** Remove a queue’s own configuration. */
export type UnconfigureAnswer = Configuration

/** Take back up to 100 items that wait or are scheduled. */
export type CancelAnswer = {
  /** In the order of `ids`. */
  readonly results: readonly {
    /** As it was sent. */
    readonly id: string
    /** `gone`: popped, settled, dead, moved, or never there; for a scheduled item also: it has joined its queue, where it has another id. */
    readonly result: 'cancelled' | 'locked' | 'gone'
  }[]
}

/** Move up to 100 items that wait or are scheduled to another priority, queue or time. */
export type MoveAnswer = {
  /** In the order of `ids`. */
  readonly results: readonly (
    | {
        /** As it was sent. */
        readonly id: string
        readonly result: 'moved'
        /** Its id from now on; left out if a consumer took it before we could look up its new place. */
        readonly new_id?: string
      }
    | {
        /** As it was sent. */
        readonly id: string
        /** `gone`: popped, settled, dead, moved, or never there; for a scheduled item also: it has joined its queue, where it has another id. */
        readonly result: 'locked' | 'gone'
      }
  )[]
}

/** The schedules of a queue. */
export type SchedulesAnswer = {
  /** By name, without their items. */
  readonly schedules: readonly Schedule[]
}

/** A schedule and its item. */
export type ScheduleAnswer = ScheduleWithItem

/** Make a schedule, or replace it. */
export type PutScheduleAnswer = ScheduleWithItem

/** Delete a schedule. */
export type DeleteScheduleAnswer = {
  readonly success: true
  /** Whether there was one. */
  readonly deleted: boolean
}

/** Push a schedule’s item now. */
export type RunScheduleAnswer = Pushed

/** Pause a schedule. */
export type PauseScheduleAnswer = Schedule

/** Resume a schedule. */
export type ResumeScheduleAnswer = Schedule

/** Remove all items, all of one priority, or those named. */
export type PurgeAnswer = {
  readonly success: true
  /** How many items. */
  readonly items_purged: number
}

/** Move dead-lettered items back to where they came from. */
export type RedriveAnswer = {
  readonly success: true
  /** How many items. */
  readonly items_redriven: number
  /** Items locked, pushed by hand, beyond `limit`, or not in `ids`. */
  readonly items_left: number
}

/** The queues, by id. */
export type ListAnswer = {
  readonly queues: readonly {
    readonly id: string
    /** Its items; absent if the record of the queue could not be read just now. */
    readonly count?: number
    /** Items in live locks. From here on, only with `detail`. */
    readonly locked_count?: number
    /** Items released with a delay that is not yet over. */
    readonly waiting_count?: number
    /** Until when these keep back the others from pops that do not compete, if they do. Epoch seconds with a fraction. */
    readonly blocked_until?: number
    /** Items on their way to `{id}-deadletter`, for a moment. */
    readonly dead_count?: number
    /** Items for later; not in `count`. */
    readonly scheduled_count?: number
    /** The priorities that have items. */
    readonly priorities?: readonly {
      /** 0 is served first. */
      readonly priority: number
      /** Items of this priority. */
      readonly count: number
    }[]
  }[]
  /** For the next page; absent on the last. */
  readonly cursor?: string
}

/** The configurations of prefixes. */
export type QueuePatternsAnswer = QueuePatterns

/** Replace the configurations of prefixes. */
export type ConfigureQueuePatternsAnswer = QueuePatterns

export type DecideRateParameters = {
  /** Whether a place in a later window will do as well. Default false. */
  readonly canWait?: boolean
  /** Another limit, where that is allowed. Default 100. */
  readonly maxRequests?: number
  /** Another line, where that is allowed. Default 400. */
  readonly maxRequestsInQueue?: number
  /** Another window, where that is allowed. Default 1,000. */
  readonly windowMillis?: number
  /** As how many requests it counts, all in one window. Default 1. */
  readonly cost?: number
  /** How long the call may wait for its turn; if the turn is later, the answer is 202 at once. Default 10,000. The service has its own maximum, 2,000 unless configured otherwise. */
  readonly maxWaitMs?: number
  /** Who asks: in a key of several shards, one caller’s requests keep their order. */
  readonly caller?: string
}

/** Ask for a turn. */
export type DecideRateAnswer =
  | {
      readonly allowed: true
      readonly request_id: string
      /** Requests that may still go in the current window. */
      readonly remaining: number
      /** The window in which this request goes. */
      readonly window: RateWindow
      /** How long the call waited for its turn. */
      readonly waited_ms: number
    }
  | {
      readonly allowed: false
      readonly request_id: string
      /** Signed: go at `not_before`, once. */
      readonly ticket: string
      /** When its turn comes; it never moves. Epoch seconds with a fraction. */
      readonly not_before: number
      /** In line; 1: nobody else waits before it. */
      readonly position: number
      /** From now until `not_before`. */
      readonly retry_after_ms: number
    }

/** The state of a rate limit. */
export type RateStateAnswer = {
  readonly key: string
  /** Where the configuration comes from: the first of these that exists. */
  readonly from: 'key' | 'pattern' | 'default'
  readonly configuration: RateConfiguration
  readonly shards: readonly {
    /** Its number, from 0. */
    readonly shard: number
    /** Its share of the limit. */
    readonly limit: number
    /** Requests that could go now. */
    readonly remaining: number
    /** Places promised in windows to come. */
    readonly waiting: number
    readonly window: RateWindow
    /** When the last promised turn comes; `null` if nobody waits. Epoch seconds with a fraction. */
    readonly last_turn: number | null
  }[]
}

/** The state of a ticket. */
export type VerifyTicketAnswer = {
  readonly state: 'waiting' | 'ready' | 'over'
  /** When its turn comes. Epoch seconds with a fraction. */
  readonly not_before: number
  /** When it is over. Epoch seconds with a fraction. */
  readonly good_until: number
  /** While it waits: from now until `not_before`. */
  readonly retry_after_ms?: number
}

/** Give a promised turn up. */
export type GiveUpTicketAnswer =
  | {
      readonly given_up: true
    }
  | {
      readonly given_up: false
      readonly reason: 'others_wait_behind' | 'too_late'
    }

/** The configuration that applies to a rate limit. */
export type RateConfigurationAnswer = RateConfiguration

export type ConfigureRateBody = {
  /** Requests that may go in one window. Default 100. */
  readonly max_requests?: number
  /** How long a window is. Default 1,000. */
  readonly window_millis?: number
  /** `smooth`: no double burst at a window’s edge. Default `window`. */
  readonly algorithm?: 'window' | 'smooth'
  /** With `smooth`: requests that may go at once after a rest. Default 1. */
  readonly burst?: number
  /** Requests that may wait for later windows. Default 400. */
  readonly max_requests_in_queue?: number
  /** Parts of a busy key, each with its own order and its share of the limit; always 1 for a prefix. Default 1. */
  readonly shards?: number
  /** Whether a call may bring its own limit. Default false. */
  readonly allow_overrides?: boolean
}

/** Give a rate limit its own configuration. */
export type ConfigureRateAnswer = RateConfiguration

/** Remove a rate limit’s own configuration. */
export type UnconfigureRateAnswer = RateConfiguration

/** The configurations of prefixes. */
export type RatePatternsAnswer = RatePatterns

/** Replace the configurations of prefixes. */
export type ConfigureRatePatternsAnswer = RatePatterns

/** Whether the service is up. */
export type HealthAnswer = {
  readonly status: 'ok'
}
