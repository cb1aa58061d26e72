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
  /** Default: IAM. */
  readonly authorisation?: Authorisation
  /** For trying out: the data is deleted with the stack. Otherwise table and bucket outlive it. */
  readonly throwaway?: boolean
  /** Limits the calls to all queues together. Default: 1,000 a second, and bursts of 2,000. */
  readonly throttle?: Throttle
  /**
   * Ends locks within a second or two of their time: a small function stays awake while some end soon. It costs
   * nothing while nothing is locked, and some $11 a month if something always is. Without it, locks end at the next
   * sweep. Default: on.
   */
  readonly wake?: boolean
  /** How late the sweeper may end an expired lock: 1 to 60 seconds. A pop ends it at once. Default: 60. */
  readonly sweepEvery?: Duration
  /** How many runs sweep side by side, each its part of the queues: 1, 2, 4, 8 or 16. Default: 1. */
  readonly sweepers?: Sweepers
  /**
   * PushPop announces items that nobody takes again after this long, then after twice as long, and so on up to
   * an hour: 10 seconds to an hour. Default: 5 minutes.
   */
  readonly remindAfter?: Duration
  /**
   * Settings of queues by the beginning of their ids. When a deployment changes them, they replace all existing
   * ones; until then, what somebody puts with `PUT /queue-config` holds. Default: deployments change nothing.
   */
  readonly queueConfig?: readonly QueueConfigPattern[]
  /** How long we remember an Idempotency-Key. Default: a day. */
  readonly idempotencyTtl?: Duration
  /**
   * How long a call may wait for its turn under a rate limit: up to 20 seconds. If its turn is later, it gets a
   * ticket. Each waiting call takes an environment of a function. Default: 2 seconds.
   */
  readonly rateHold?: Duration
  /**
   * How many pops may wait for an item (`wait_seconds`) at once, each for up to 20 seconds in an environment of a
   * function: 0 to 200. Others get their answers at once. Default: 5.
   */
  readonly waitingPops?: number
  /**
   * How many environments functions may have at once, `{ Rate: 50 }`: this reserves part of the account's
   * concurrency for them. Default: as many as the account has.
   */
  readonly concurrency?: Concurrency
  /** Pages of these origins may call from a browser. Default: none. */
  readonly corsOrigins?: readonly string[]
  readonly logLevel?: LogLevel
  /** Default: a month. */
  readonly logRetention?: RetentionDays
  /** X-Ray. Default: on. */
  readonly tracing?: boolean
  /** Tells the metrics of several services apart. Default: the stack's name (and the construct's id). */
  readonly serviceName?: string
  /** Puts events from the table's stream on the service's own bus. Default: on. */
  readonly events?: boolean
  /** How long the archive keeps events for a replay. Default: a week. */
  readonly eventArchive?: Duration
  /**
   * An SQS queue for pushes that PushPop applies later, in order and once: from callers who prefer not to wait,
   * and from anything in AWS that may send to it. While idle, it costs some $0.30 a month. Default: off.
   */
  readonly inbox?: boolean
  /** How many environments apply the inbox at once: 2 to 1,000. Default: 5. */
  readonly inboxConcurrency?: number
  /** Twenty alarms, and two for an inbox, at $0.10 a month for each metric that they read. Default: on. */
  readonly alarms?: boolean
  /** Gets a message when an alarm begins and when it is over. */
  readonly alarmTopic?: ITopic
  /** One more alarm, for items that had waited longer than this when they were popped. */
  readonly itemAgeAlarm?: Duration
  /** Default: on. */
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
  /** Present unless turned off. */
  readonly events?: Events
  /** Present if the settings ask for it. */
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

  /** Allows calling the route that pushes, for these queues (`orders`, `tenant-7.*`) or all. */
  grantPush(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'push', queues)
  }

  /** Allows calling the routes that pop, and that acknowledge, extend, release and dead-letter popped items. */
  grantPop(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'pop', queues)
  }

  /** Allows asking rate limits for a turn, and about tickets, for these keys (`user-123`, `tenant-7.*`) or all. */
  grantRate(grantee: IGrantable, keys?: readonly string[]): Grant {
    return this.api.grant(grantee, 'rate', keys)
  }

  /** Allows calling the routes that look at queues and their items; if for all queues, at rate limits as well. */
  grantInspect(grantee: IGrantable, queues?: readonly string[]): Grant {
    return this.api.grant(grantee, 'inspect', queues)
  }

  /**
   * Allows calling the routes that configure, cancel, move, purge and redrive; if for all queues, also those that
   * configure rate limits.
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
