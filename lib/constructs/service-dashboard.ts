// The dashboard of a service. Hides which metrics it shows, and where.

import {
  Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  PeriodOverride,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import type { Watched } from './service-metrics.ts'
import {
  apiMetric,
  refusedMetrics,
  serviceMetric,
  slowPops,
  tableMetric,
} from './service-metrics.ts'

type ServiceDashboardProps = Watched & { readonly alarmNames: readonly string[] }

/** Three in a row. */
const WIDTH = 8
const HEIGHT = 6

/** Shows first what callers feel, then what their items do, then what it costs. */
export class ServiceDashboard extends Construct {
  readonly dashboard: Dashboard

  constructor(scope: Construct, id: string, props: ServiceDashboardProps) {
    super(scope, id)
    const rows: IWidget[][] = [
      [heading(props)],
      ...(props.alarmNames.length > 0 ? [[this.#status(props.alarmNames)]] : []),
      calls(props),
      items(props),
      background(props),
      ...(props.events ? [announced(props.events)] : []),
      ...(props.inbox ? [inbox(props, props.inbox)] : []),
      store(props),
    ]
    this.dashboard = new Dashboard(this, 'Default', {
      defaultInterval: Duration.hours(3),
      periodOverride: PeriodOverride.AUTO,
      widgets: rows,
    })
  }

  /** Takes names, because an alarm's ARN is an attribute that not every emulator knows. */
  #status(names: readonly string[]): IWidget {
    const alarms = names.map((name) => Alarm.fromAlarmName(this, name, name))
    return new AlarmStatusWidget({ title: 'Alarms', alarms, width: 3 * WIDTH, height: 3 })
  }
}

const heading = ({ serviceName }: Watched): IWidget =>
  new TextWidget({
    markdown: `# ${serviceName}\nWhat each alarm means and what to do is in \`docs/operations.md\`.`,
    width: 3 * WIDTH,
    height: 2,
  })

const calls = ({ api, functions, serviceName }: Watched): IWidget[] => [
  graph('Calls', [
    apiMetric(api.apiId, 'Count', { label: 'all' }),
    apiMetric(api.apiId, '4xx', { label: '4xx' }),
    apiMetric(api.apiId, '5xx', { label: '5xx' }),
  ]),
  graph(
    'Latency, ms',
    [50, 99].map((percent) =>
      apiMetric(api.apiId, 'Latency', {
        statistic: Stats.percentile(percent),
        label: `p${percent}`,
      }),
    ),
  ),
  graph('Pops that took over 2 s without their wait, percent', [
    slowPops(functions.Pop, serviceName, { label: 'slow' }),
  ]),
  graph(
    'Functions throttled or failed',
    Object.entries(functions).flatMap(([name, made]) => [
      made.metricThrottles({ label: `${name} throttled` }),
      made.metricErrors({ label: `${name} failed` }),
    ]),
  ),
]

const items = ({ serviceName }: Watched): IWidget[] => [
  graph('Items', [
    serviceMetric(serviceName, 'ItemsPushed', { label: 'pushed' }),
    serviceMetric(serviceName, 'ItemsScheduled', { label: 'of them for later' }),
    serviceMetric(serviceName, 'ItemsPopped', { label: 'popped' }),
    serviceMetric(serviceName, 'ItemsAcknowledged', { label: 'acknowledged' }),
  ]),
  graph('Items that came back, or went', [
    serviceMetric(serviceName, 'ItemsReturned', { label: 'returned' }),
    serviceMetric(serviceName, 'ItemsDeadLettered', { label: 'dead-lettered' }),
    serviceMetric(serviceName, 'ItemsExpired', { label: 'expired' }),
  ]),
  graph(
    'Oldest item popped, seconds',
    [Stats.MAXIMUM, Stats.AVERAGE].map((statistic) =>
      serviceMetric(serviceName, 'OldestItemAge', { statistic, label: statistic }),
    ),
  ),
]

const background = ({ serviceName, functions, failures }: Watched): IWidget[] => [
  graph('Segments', [
    serviceMetric(serviceName, 'SegmentsOffloaded', { label: 'offloaded' }),
    serviceMetric(serviceName, 'SegmentsRecalled', { label: 'recalled' }),
    serviceMetric(serviceName, 'SegmentOffloadFailures', { label: 'offloads failed' }),
    serviceMetric(serviceName, 'SegmentLoadFailures', { label: 'loads failed' }),
  ]),
  graph('Segments loaded from S3, ms', [
    serviceMetric(serviceName, 'SegmentLoadTime', { statistic: 'p50', label: 'p50' }),
    serviceMetric(serviceName, 'SegmentLoadTime', { statistic: Stats.MAXIMUM, label: 'slowest' }),
  ]),
  graph('Housekeeping behind, ms', [
    functions.Housekeep.metric('IteratorAge', { statistic: Stats.MAXIMUM, label: 'oldest event' }),
  ]),
  graph('Expired locks ended late, seconds', [
    serviceMetric(serviceName, 'LockReturnLag', {
      statistic: Stats.MAXIMUM,
      label: 'the latest of a run',
    }),
  ]),
  graph('Failures in the background', [
    serviceMetric(serviceName, 'HousekeepingFailures', { label: 'housekeeping' }),
    serviceMetric(serviceName, 'SweepFailures', { label: 'sweeper' }),
    serviceMetric(serviceName, 'FormatsUnknown', { label: 'newer formats passed' }),
    failures.metricApproximateNumberOfMessagesVisible({
      statistic: Stats.MAXIMUM,
      label: 'given up on',
    }),
  ]),
]

const announced = ({ announcer, failures }: NonNullable<Watched['events']>): IWidget[] => [
  graph('Events announced, batches', [announcer.metricInvocations({ label: 'announced' })]),
  graph('Events behind, ms', [
    announcer.metric('IteratorAge', { statistic: Stats.MAXIMUM, label: 'oldest write' }),
  ]),
  graph('Events given up, batches', [
    failures.metricApproximateNumberOfMessagesVisible({
      statistic: Stats.MAXIMUM,
      label: 'given up on',
    }),
  ]),
]

const inbox = (
  { serviceName }: Watched,
  { queue, failures }: NonNullable<Watched['inbox']>,
): IWidget[] => [
  graph('Inbox', [
    serviceMetric(serviceName, 'InboxAccepted', { label: 'items accepted' }),
    serviceMetric(serviceName, 'InboxApplied', { label: 'items applied' }),
    serviceMetric(serviceName, 'InboxRefused', { label: 'messages refused' }),
  ]),
  graph('Inbox behind, seconds', [
    serviceMetric(serviceName, 'InboxWaiting', {
      statistic: Stats.MAXIMUM,
      label: 'oldest that has to wait',
    }),
    queue.metricApproximateAgeOfOldestMessage({
      statistic: Stats.MAXIMUM,
      label: 'oldest message',
    }),
  ]),
  graph('Messages in the inbox', [
    queue.metricApproximateNumberOfMessagesVisible({
      statistic: Stats.MAXIMUM,
      label: 'waiting',
    }),
    queue.metricApproximateNumberOfMessagesNotVisible({
      statistic: Stats.MAXIMUM,
      label: 'being applied',
    }),
    failures.metricApproximateNumberOfMessagesVisible({
      statistic: Stats.MAXIMUM,
      label: 'given up on',
    }),
  ]),
]

const store = ({ serviceName, table }: Watched): IWidget[] => [
  graph('DynamoDB units', [
    tableMetric(table.tableName, 'ConsumedWriteCapacityUnits', { label: 'written' }),
    tableMetric(table.tableName, 'ConsumedReadCapacityUnits', { label: 'read' }),
  ]),
  graph(
    'DynamoDB refused',
    Object.entries(refusedMetrics(table.tableName)).map(([label, metric]) =>
      metric.with({ label: label.replace('_', ' of ') }),
    ),
  ),
  graph('Requests and lost races', [
    serviceMetric(serviceName, 'Attempts', { label: 'requests to DynamoDB' }),
    serviceMetric(serviceName, 'Conflicts', { label: 'conflicts' }),
  ]),
]

const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({
    title,
    left: [...left],
    leftYAxis: { min: 0, showUnits: false },
    width: WIDTH,
    height: HEIGHT,
  })
