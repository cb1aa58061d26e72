import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Duration, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { Alarms } from './alarms.ts'
import type { Authorisation } from './authorisation.ts'
import { Events } from './events.ts'
import type { Concurrency } from './function-settings.ts'
import { type Functions, type LogLevel, makeFunctions } from './functions.ts'
import { HousekeepingStream } from './housekeeping-stream.ts'
import { HttpApi, type Throttle } from './http-api.ts'
import { INBOX_CONCURRENCY, Inbox } from './inbox.ts'
import {
  bytesInEnvironment,
  type QueueConfigPattern,
  queueConfigText,
  SWEEPER_BYTES_MAX,
} from './queue-config.ts'
import { checkService } from './service-checks.ts'
import { ServiceDashboard } from './service-dashboard.ts'
import type { CommonSettings } from './service-function.ts'
import { Storage } from './storage.ts'
import { type Sweepers, SweepSchedule } from './sweep-schedule.ts'
import type { Watched } from './watched.ts'

export type PushPopProps = {
  /** IAM unless set. */
  readonly authorisation?: Authorisation
  /** For trying out: the data is deleted with the stack. Otherwise table and bucket outlive it. */
  readonly throwaway?: boolean
  /** Calls over all queues; 1,000 a second and bursts of 2,000 unless set. */
  readonly throttle?: Throttle
  /**
   * Locks end within a second or two of their time: a small function stays awake while some end soon. On unless
   * set: while nothing is locked it costs nothing, and some $11 a month where something always is. Without it
   * locks end at the next sweep.
   */
  readonly wake?: boolean
  /** How late the sweeper may end an expired lock: 1 to 60 seconds; 60 unless set. A pop ends it at once. */
  readonly sweepEvery?: Duration
  /** Runs that sweep side by side, each its part of the queues: 1, 2, 4, 8 or 16; 1 unless set. */
  readonly sweepers?: Sweepers
  /**
   * Items that nobody takes are announced again after this long, then after twice as long, and so on up to
   * an hour: 10 seconds to an hour; 5 minutes unless set.
   */
  readonly remindAfter?: Duration
  /**
   * Settings of queues by the beginning of their ids: they replace all that are there when a deployment changes
   * them; what somebody puts with `PUT /queue-config` holds until then. Left alone unless set.
   */
  readonly queueConfig?: readonly QueueConfigPattern[]
  /** How long we remember an Idempotency-Key; a day unless set. */
  readonly idempotencyTtl?: Duration
  /**
   * How long we hold a call that waits for its turn in a rate limit: up to 20 seconds; 2 unless set. For a
   * later turn it gets a ticket. Each held call takes an environment of a function.
   */
  readonly rateHold?: Duration
  /**
   * How many pops that wait for an item (`wait_seconds`) we hold at once, each for up to 20 seconds in an
   * environment of a function: 0 to 200; 5 unless set. Others are answered at once.
   */
  readonly waitingPops?: number
  /**
   * How many environments functions may have at once, `{ Rate: 50 }`: concurrency reserved for them out of
   * the account's; as many as the account has unless set.
   */
  readonly concurrency?: Concurrency
  /** Pages of these origins may call from a browser; none unless set. */
  readonly corsOrigins?: readonly string[]
  readonly logLevel?: LogLevel
  /** A month unless set. */
  readonly logRetention?: RetentionDays
  /** X-Ray; on unless set. */
  readonly tracing?: boolean
  /** Tells the metrics of several services apart; the stack's name (and the construct's id) unless set. */
  readonly serviceName?: string
  /** Events on a bus of the service's own, from the table's stream; on unless set. */
  readonly events?: boolean
  /** How long the archive keeps events for a replay; a week unless set. */
  readonly eventArchive?: Duration
  /**
   * A queue of SQS for pushes that are applied later, in order and once: from callers who prefer not to wait,
   * and from anything in AWS that may send to it. Off unless set: while idle it costs some $0.30 a month.
   */
  readonly inbox?: boolean
  /** How many environments apply the inbox at once: 2 to 1,000; 5 unless set. */
  readonly inboxConcurrency?: number
  /** Twenty alarms, and two for an inbox, at $0.10 a month for each metric they read; on unless set. */
  readonly alarms?: boolean
  /** Gets a message when an alarm begins and when it is over. */
  readonly alarmTopic?: ITopic
  /** One more alarm, for items that had waited longer than this when they were popped. */
  readonly itemAgeAlarm?: Duration
  /** On unless set. */
  readonly dashboard?: boolean
}

/** The whole service, to be placed into any stack: storage, events, functions, routes, schedule, stream, alarms. */
export class PushPop extends Construct {
  readonly serviceName: string
  readonly storage: Storage
  readonly functions: Functions
  readonly api: HttpApi
  /** Without a slash at its end. */
  readonly url: string
  /** The queue for what housekeeping gave up on. */
  readonly failures: Queue
  /** There unless turned off. */
  readonly events?: Events
  /** There where it is asked for. */
  readonly inbox?: Inbox
  /** What the functions of its consumers have in common with its own. */
  readonly common: CommonSettings
  /** Bytes of the sweeper's environment that `queueConfig` leaves to schedules. */
  readonly roomForSchedules: number

  constructor(scope: Construct, id: string, props: PushPopProps = {}) {
    super(scope, id)
    checkService(id, props)
    const { throwaway = false, tracing = true, logRetention = RetentionDays.ONE_MONTH } = props
    this.common = { throwaway, tracing, logRetention }
    const { queueConfig } = props
    const configured =
      queueConfig === undefined ? 0 : bytesInEnvironment(queueConfigText(queueConfig))
    this.roomForSchedules = SWEEPER_BYTES_MAX - configured
    this.serviceName = props.serviceName ?? serviceNameOf(this)
    const { serviceName } = this

    this.storage = new Storage(this, 'Storage', { throwaway })
    const { storage } = this

    if (props.events !== false) {
      this.events = new Events(this, 'Events', {
        serviceName,
        archiveFor: props.eventArchive ?? Duration.days(7),
      })
    }
    if (props.inbox === true) this.inbox = new Inbox(this, 'Inbox', { throwaway })
    const { events, inbox } = this

    this.functions = makeFunctions(this, {
      serviceName,
      storage,
      logLevel: props.logLevel ?? 'info',
      ...this.common,
      sweepEvery: props.sweepEvery,
      idempotencyTtl: props.idempotencyTtl,
      rateHold: props.rateHold,
      waitingPops: props.waitingPops,
      remindAfter: props.remindAfter,
      queueConfig,
      concurrency: props.concurrency ?? {},
      bus: events?.bus,
      inbox,
      wake: props.wake !== false,
    })
    const { functions } = this

    this.api = new HttpApi(this, 'Api', {
      name: serviceName,
      functions,
      authorisation: props.authorisation ?? { kind: 'iam' },
      throttle: props.throttle ?? { perSecond: 1_000, burst: 2_000 },
      corsOrigins: props.corsOrigins ?? [],
      logRetention,
      throwaway,
    })
    this.url = this.api.url

    new SweepSchedule(this, 'SweepSchedule', {
      sweeper: functions.ReturnExpiredLocks,
      sweepers: props.sweepers ?? 1,
    })
    this.failures = new HousekeepingStream(this, 'HousekeepingStream', {
      table: storage.table,
      housekeeper: functions.Housekeep,
      wakes: functions.Wake !== undefined,
    }).failures
    const { Announce: announcer, ApplyInbox: applier } = functions
    if (announcer) events?.follow(storage.table, announcer)
    if (applier) inbox?.applyBy(applier, props.inboxConcurrency ?? INBOX_CONCURRENCY)

    const { table } = storage
    const { failures } = this
    const watched: Watched = {
      serviceName,
      api: this.api.api,
      functions,
      table,
      failures,
      events: events && announcer && { announcer, failures: events.failures },
      inbox: inbox && applier && { applier, queue: inbox.queue, failures: inbox.failures },
    }
    const alarmNames =
      props.alarms === false
        ? []
        : new Alarms(this, 'Alarms', {
            ...watched,
            sweepers: props.sweepers ?? 1,
            topic: props.alarmTopic,
            itemAge: props.itemAgeAlarm,
          }).names
    if (props.dashboard !== false) {
      new ServiceDashboard(this, 'Dashboard', { ...watched, alarmNames })
    }
  }

  /** To call the route that pushes, of these queues (`orders`, `tenant-7.*`) or of all. */
  grantPush(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'push', queues)
  }

  /** To call those that pop, and that acknowledge, extend, release and dead-letter what was popped. */
  grantPop(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'pop', queues)
  }

  /** To ask rate limits for a turn, of these keys (`user-123`, `tenant-7.*`) or of all; and about tickets. */
  grantRate(grantee: IGrantable, keys?: readonly string[]): Grant {
    return this.api.grant(grantee, 'rate', keys)
  }

  /** To call those that look at queues and their items; of all queues, at rate limits as well. */
  grantInspect(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'inspect', queues)
  }

  /**
   * To call those that configure, cancel, move, purge and redrive; of all queues, those that configure rate limits as
   * well.
   * A move can put items of these queues into any other: IAM does not see where they go.
   */
  grantManage(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'manage', queues)
  }
}

/**
 * `PushPop`; and `Shop-Orders` for the construct `Orders` in the stack `Shop`. It names the bus too, and a bus
 * has no spaces, which the id of a construct may have.
 */
function serviceNameOf(construct: Construct): string {
  const stack = Stack.of(construct)
  const within = construct.node.path.slice(stack.node.path.length).split('/')
  const ids = within.filter((id) => id !== '' && id !== 'Default')
  return [stack.stackName, ...ids.map((id) => id.replaceAll(/[^A-Za-z0-9._-]+/g, '-'))].join('-')
}
