// Puts the service together. Hides which of its parts need which others, and in what order they are made.

import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Duration, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { Alarms } from './alarms.ts'
import { HousekeepingStream, SweepSchedule } from './background.ts'
import { Events } from './events.ts'
import type { CommonSettings } from './functions.ts'
import {
  bytesInEnvironment,
  type Functions,
  makeFunctions,
  queueConfigText,
  SWEEPER_BYTES_MAX,
} from './functions.ts'
import { HttpApi } from './http-api.ts'
import { INBOX_CONCURRENCY, Inbox } from './inbox.ts'
import { ServiceDashboard } from './service-dashboard.ts'
import type { Watched } from './service-metrics.ts'
import type { PushPopProps } from './service-props.ts'
import { checkService } from './service-props.ts'
import { Storage } from './storage.ts'

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

  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: the parts in the order in which they need each other
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
