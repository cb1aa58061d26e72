// The alarms of a service, as data: what users feel, where to read what to do, and from when on.

import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { SLOW_CALL_MS } from '../../lambdas/runtime/names.ts'
import type { Sweepers } from './background.ts'
import type { Watched } from './service-metrics.ts'
import { apiMetric, refusedMetrics, serviceMetric, slowPops } from './service-metrics.ts'

type AlarmsProps = Watched & {
  /** Gets a message when an alarm begins and when it is over. */
  readonly topic: ITopic | undefined
  /** How long an item may wait before somebody should know; only you can say that. */
  readonly itemAge: Duration | undefined
  /** How many runs of the sweeper begin each minute. */
  readonly sweepers: Sweepers
}

type Definition = {
  /** What users feel. */
  readonly felt: string
  /** The heading in docs/operations.md that says what to do, or of the page that is named. */
  readonly section: string
  readonly page?: string
  readonly metric: IMetric
  readonly limit: { readonly above: number } | { readonly below: number }
  /** Periods of the metric: this many of the last `of` must be too high. */
  readonly periods: number
  readonly of?: number
  /** Missing data counts as good, unless silence is the trouble. */
  readonly silence?: 'breaching'
}

const minute = { period: Duration.minutes(1) }
const oneInHundred = { statistic: Stats.percentile(99), ...minute }
const fiveMinutes = { period: Duration.minutes(5) }

/** The description of each alarm says first what users feel, then what is wrong and where to read on. */
export class Alarms extends Construct {
  readonly names: readonly string[]

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id)
    this.names = Object.entries(definitions(props)).map(([name, definition]) =>
      this.#add(name, definition, props),
    )
  }

  #add(name: string, definition: Definition, { serviceName, topic }: AlarmsProps): string {
    const { felt, section, metric, limit, periods, of = periods, silence } = definition
    const { page = 'docs/operations.md' } = definition
    const alarmName = `${serviceName}-${name}`
    const alarm = new Alarm(this, name, {
      alarmName,
      alarmDescription: `${felt} What to do: ${page}#${section}`,
      metric,
      threshold: 'above' in limit ? limit.above : limit.below,
      comparisonOperator:
        'above' in limit
          ? ComparisonOperator.GREATER_THAN_THRESHOLD
          : ComparisonOperator.LESS_THAN_THRESHOLD,
      datapointsToAlarm: periods,
      evaluationPeriods: of,
      treatMissingData:
        silence === 'breaching' ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    })
    if (topic !== undefined) {
      alarm.addAlarmAction(new SnsAction(topic))
      alarm.addOkAction(new SnsAction(topic))
    }
    return alarmName
  }
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of alarms, a few lines each
function definitions(props: AlarmsProps): Readonly<Record<string, Definition>> {
  const { api, functions, table, failures, events, inbox, serviceName, itemAge, sweepers } = props
  const { Pop, Push, ReturnExpiredLocks, Housekeep } = functions
  return {
    CallsFail: {
      felt: 'Callers get errors: more than 1 call in 100 was answered 5xx.',
      section: 'calls-fail',
      metric: new MathExpression({
        expression: 'IF(calls > 0, 100 * failed / calls, 0)',
        label: 'failed calls, percent',
        usingMetrics: {
          calls: apiMetric(api.apiId, 'Count', minute),
          failed: apiMetric(api.apiId, '5xx', minute),
        },
        ...minute,
      }),
      limit: { above: 1 },
      // One bad minute may be one cold dependency; three in five are not.
      periods: 3,
      of: 5,
    },
    PushesAreSlow: slow('push', Push.metricDuration(oneInHundred), { above: SLOW_CALL_MS }),
    PopsAreSlow: slow('pop', slowPops(Pop, serviceName, minute), { above: 1 }),
    SweeperIsSilent: {
      felt:
        'Items whose consumer died do not come back: for ten minutes the sweeper, or a part of it, did not ' +
        'run, or failed. A consumer that pops the queue still gets them.',
      section: 'expired-locks-stay',
      metric: new MathExpression({
        // Lambda writes both for each run. Without FILL, which would count a newest point that is only
        // late as a run that failed.
        expression: 'runs - failed',
        label: 'successful runs',
        usingMetrics: {
          runs: ReturnExpiredLocks.metricInvocations(fiveMinutes),
          failed: ReturnExpiredLocks.metricErrors(fiveMinutes),
        },
        ...fiveMinutes,
      }),
      // One run a minute for each part. A dead part takes five away; two may fall into the next five minutes.
      limit: { below: 5 * sweepers - 2 },
      // The newest point may lack late data.
      periods: 2,
      of: 3,
      silence: 'breaching',
    },
    SweeperCrashes: {
      felt: 'In some queues, items whose consumer died come back late or not at all: runs of the sweeper fail.',
      section: 'expired-locks-stay',
      metric: ReturnExpiredLocks.metricErrors(fiveMinutes),
      // A run that fails once is made up for by the next.
      limit: { above: 2 },
      periods: 2,
      of: 3,
    },
    SweeperIsThrottled: {
      felt:
        'In some queues, items whose consumer died come back late or not at all: Lambda has no environment ' +
        'for the sweeper.',
      section: 'expired-locks-stay',
      metric: ReturnExpiredLocks.metricThrottles(fiveMinutes),
      limit: { above: 2 },
      periods: 2,
      of: 3,
    },
    SweeperFails: {
      felt:
        'In some queues, items whose consumer died come back late or not at all, or schedules do not push, or are ' +
        'not as the app has them.',
      section: 'expired-locks-stay',
      metric: serviceMetric(serviceName, 'SweepFailures', fiveMinutes),
      limit: { above: 0 },
      // A queue that fails once is visited again a minute later.
      periods: 3,
    },
    LocksReturnLate: {
      felt: 'Items whose consumer died come back minutes late: the sweeper does not keep up.',
      section: 'expired-locks-stay',
      metric: serviceMetric(serviceName, 'LockReturnLag', {
        statistic: Stats.MAXIMUM,
        ...minute,
      }),
      // A minute until the next run, and one more for its work.
      limit: { above: 180 },
      periods: 3,
      of: 5,
    },
    HousekeepingIsBehind: {
      felt:
        'Dead-lettered items arrive late, and long queues cost more than they should: ' +
        'housekeeping is ten minutes behind.',
      section: 'housekeeping-is-behind',
      metric: Housekeep.metric('IteratorAge', { statistic: Stats.MAXIMUM, ...minute }),
      limit: { above: 10 * 60_000 },
      periods: 3,
    },
    HousekeepingFails: {
      felt: 'In some queues, dead-lettered items do not arrive and settled items are not cleared away.',
      section: 'housekeeping-fails',
      metric: serviceMetric(serviceName, 'HousekeepingFailures', fiveMinutes),
      limit: { above: 0 },
      periods: 3,
    },
    HousekeepingGaveUp: {
      felt: 'Nobody feels it yet: housekeeping gave up on some queues until they are next written to.',
      section: 'housekeeping-fails',
      metric: failures.metricApproximateNumberOfMessagesVisible({
        statistic: Stats.MAXIMUM,
        ...fiveMinutes,
      }),
      limit: { above: 0 },
      periods: 1,
    },
    ...(events && {
      EventsAreLate: {
        felt: 'Items wait although a consumer is there for them: events come more than a minute late.',
        page: 'docs/events.md',
        section: 'events-are-late',
        metric: events.announcer.metric('IteratorAge', { statistic: Stats.MAXIMUM, ...minute }),
        limit: { above: 60_000 },
        periods: 3,
      },
      EventsWereGivenUp: {
        felt:
          'Items may wait for up to an hour, until they are announced again, although a consumer is ' +
          'there for them: events were given up.',
        page: 'docs/events.md',
        section: 'events-were-given-up',
        metric: events.failures.metricApproximateNumberOfMessagesVisible({
          statistic: Stats.MAXIMUM,
          ...fiveMinutes,
        }),
        limit: { above: 0 },
        periods: 1,
      },
    }),
    ...(inbox && inboxAlarms(inbox, serviceName)),
    ...Object.fromEntries(
      Object.entries(refusedMetrics(table.tableName, minute)).map(([id, metric]) => [
        `AQueueIsHot${camelCase(id)}`,
        hot(metric),
      ]),
    ),
    ItemsWereDeadLettered: {
      felt: 'Items were not processed: they came back too often, a consumer gave up on them, or they expired.',
      section: 'items-were-dead-lettered',
      metric: serviceMetric(serviceName, 'ItemsDeadLettered', fiveMinutes),
      limit: { above: 0 },
      periods: 1,
    },
    ...(itemAge !== undefined && {
      ItemsWaitTooLong: {
        felt: `Items are processed late: one had waited for more than ${itemAge.toSeconds()} seconds when it was popped.`,
        section: 'items-wait-too-long',
        metric: serviceMetric(serviceName, 'OldestItemAge', {
          ...fiveMinutes,
          statistic: Stats.MAXIMUM,
        }),
        limit: { above: itemAge.toSeconds() },
        periods: 3,
      },
    }),
  }
}

const inboxAlarms = (
  { queue, failures }: NonNullable<Watched['inbox']>,
  serviceName: string,
): Readonly<Record<string, Definition>> => ({
  InboxIsBehind: {
    felt: 'Items that were accepted arrive late in their queues: one has waited in the inbox for ten minutes.',
    page: 'docs/inbox.md',
    section: 'the-inbox-is-behind',
    metric: queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM, ...minute }),
    limit: { above: 600 },
    periods: 3,
  },
  // SQS leaves a message that it gave out three times out of its age, and what waits is given out often.
  InboxMessagesWait: {
    felt: 'Items that were accepted arrive late in their queues: the inbox could not apply one for ten minutes.',
    page: 'docs/inbox.md',
    section: 'the-inbox-is-behind',
    metric: serviceMetric(serviceName, 'InboxWaiting', {
      statistic: Stats.MAXIMUM,
      ...fiveMinutes,
    }),
    limit: { above: 600 },
    // Waiting messages are tried at least every 18 minutes.
    periods: 1,
    of: 5,
  },
  InboxGaveUp: {
    felt: 'Items that were accepted are in no queue: the inbox gave up on them.',
    page: 'docs/inbox.md',
    section: 'the-inbox-gave-up',
    metric: failures.metricApproximateNumberOfMessagesVisible({
      statistic: Stats.MAXIMUM,
      ...fiveMinutes,
    }),
    limit: { above: 0 },
    periods: 1,
  },
})

/**
 * This does not use the gateway's latency over all calls: a call that waits for its turn under a rate limit, or
 * for an item, takes seconds because its caller asked for that. Pushes and pops have an alarm each: if nobody
 * pops, there is no data to combine.
 */
const slow = (call: 'push' | 'pop', metric: IMetric, limit: Definition['limit']): Definition => ({
  felt: `Callers wait: 1 ${call} in 100 took longer than 2 seconds.`,
  section: 'calls-are-slow',
  metric,
  limit,
  periods: 5,
})

/**
 * One for each place that can refuse: a metric has no data at all while its place refuses nothing, and
 * CloudWatch does not say what a sum makes of that. An alarm on several metrics would cost as much.
 */
const hot = (metric: IMetric): Definition => ({
  felt:
    'Calls to a busy queue are slow or answered 503 BUSY: DynamoDB refuses more than one ' +
    'request a second.',
  section: 'a-queue-is-hot',
  metric,
  limit: { above: 60 },
  // The newest point or two come late.
  periods: 3,
  of: 5,
})

/** `WritesCheck` for `writes_check`. */
const camelCase = (id: string): string =>
  id
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
