import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tableDefinition } from '../../aws/table.ts'
import { METRIC_NAMESPACE, metrics, SERVICE_DIMENSION } from '../../lambdas/runtime/names.ts'
import { nameOf } from './rights.ts'
import { type Resource, synthesised } from './synthesised.ts'

const root = join(import.meta.dirname, '../..')
const topic = 'arn:aws:sns:eu-central-1:123456789012:operators'
const made = synthesised({ itemAgeAlarm: '900', alarmTopic: topic })
const alarms = made.ofType('AWS::CloudWatch::Alarm')

type Dimension = { readonly Name: string; readonly Value: unknown }
type MetricStat = {
  readonly Namespace: string
  readonly MetricName: string
  readonly Dimensions: readonly Dimension[]
}

/** Of an alarm on several metrics. */
const expressionOf = ({ Properties }: Resource): string =>
  (Properties.Metrics ?? []).map(({ Expression = '' }) => Expression).join('')

/** The metrics of an alarm, on its own or in an expression. */
const metricsOf = ({ Properties }: Resource): MetricStat[] =>
  Properties.Metrics === undefined
    ? [Properties]
    : Properties.Metrics.flatMap(({ MetricStat }: { MetricStat?: { Metric: MetricStat } }) =>
        MetricStat === undefined ? [] : [MetricStat.Metric],
      )

/** As the page's headings become addresses. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )

describe('Alarms', () => {
  it('are these.', () => {
    expect(alarms.map(([id]) => id.replace('Alarms', ''))).toEqual([
      'CallsFail',
      'PushesAreSlow',
      'PopsAreSlow',
      'SweeperIsSilent',
      'SweeperCrashes',
      'SweeperIsThrottled',
      'SweeperFails',
      'LocksReturnLate',
      'HousekeepingIsBehind',
      'HousekeepingFails',
      'HousekeepingGaveUp',
      'EventsAreLate',
      'EventsWereGivenUp',
      'InboxIsBehind',
      'InboxMessagesWait',
      'InboxGaveUp',
      'AQueueIsHotWrites',
      'AQueueIsHotReads',
      'AQueueIsHotWritesCheck',
      'AQueueIsHotReadsCheck',
      'AQueueIsHotWritesDirectory',
      'AQueueIsHotReadsDirectory',
      'ItemsWereDeadLettered',
      'ItemsWaitTooLong',
    ])
  })

  it.each(alarms)('%s says what users feel, and which section says what to do.', (_, alarm) => {
    const text = alarm.Properties.AlarmDescription as string
    const form = /^(.+\.) What to do: (docs\/(?:operations|events|inbox)\.md)#(.+)$/
    const [, felt, file = '', anchor] = form.exec(text) ?? []
    const page = readFileSync(join(root, file), 'utf8')
    expect(felt).toMatch(/[Cc]aller|[Ii]tems|[Cc]alls|feels/)
    expect(anchorsOf(page)).toContain(anchor)
  })

  it.each(alarms)('%s tells the topic when it begins and when it is over.', (_, { Properties }) => {
    expect(Properties.AlarmActions).toEqual([topic])
    expect(Properties.OKActions).toEqual([topic])
  })

  it.each(alarms)('%s looks at this service, by metrics that there are.', (_, alarm) => {
    for (const { Namespace, MetricName, Dimensions } of metricsOf(alarm)) {
      const [{ Name, Value }, index, ...more] = [...Dimensions].sort((a, b) =>
        a.Name === 'TableName' ? -1 : b.Name === 'TableName' ? 1 : 0,
      ) as [Dimension, ...Dimension[]]
      expect(more).toEqual([])
      if (index !== undefined) {
        expect([Name, index.Name]).toEqual(['TableName', 'GlobalSecondaryIndexName'])
        expect(tableDefinition.indexes.map(({ name }) => name)).toContain(index.Value)
      }
      if (Namespace === METRIC_NAMESPACE) {
        expect(Object.keys(metrics)).toContain(MetricName)
        expect([Name, Value]).toEqual([SERVICE_DIMENSION, 'PushPop'])
        continue
      }
      const watched = { ApiId: 'Api', TableName: 'StorageTable' } as Record<string, string>
      const others = [
        ...[
          'Push',
          'Pop',
          'ReturnExpiredLocks',
          'Housekeep',
          'HousekeepingStreamFailures.QueueName',
        ],
        ...['Announce', 'EventsFailures.QueueName'],
        ...['Inbox.QueueName', 'InboxFailures.QueueName'],
      ]
      if (Name in watched) expect(nameOf(Value)).toBe(watched[Name])
      else expect(others).toContain(nameOf(Value))
    }
  })

  it('count what DynamoDB refuses, of the table and of each index, to read and to write.', () => {
    const counted = alarms
      .filter(([id]) => id.startsWith('AlarmsAQueueIsHot'))
      .map(([, hot]) =>
        metricsOf(hot).map(({ MetricName, Dimensions }) => [
          MetricName,
          Dimensions.find(({ Name }) => Name === 'GlobalSecondaryIndexName')?.Value,
        ]),
      )
    const places = [undefined, ...tableDefinition.indexes.map(({ name }) => name)]
    const wanted = places.flatMap((place) => [
      [['WriteThrottleEvents', place]],
      [['ReadThrottleEvents', place]],
    ])
    expect(counted).toEqual(wanted)
  })

  // Some metrics have no data at all: what was never refused, a function that was never called. CloudWatch
  // does not document what an expression makes of them, nor FILL of what is only late.
  it('combine only metrics that come together.', () => {
    const combining = alarms
      .map(([id, alarm]) => [id, expressionOf(alarm)] as const)
      .filter(([, expression]) => expression !== '')
    expect(combining).toEqual([
      ['AlarmsCallsFail', 'IF(calls > 0, 100 * failed / calls, 0)'],
      // Without slow pops there is no such metric, and missing data is good here.
      ['AlarmsPopsAreSlow', 'IF(calls > 0, 100 * slow / calls, 0)'],
      ['AlarmsSweeperIsSilent', 'runs - failed'],
    ])
  })

  it('bear that the newest points come late.', () => {
    for (const [, { Properties }] of alarms.filter(([id]) => id.startsWith('AlarmsAQueueIsHot'))) {
      expect([Properties.DatapointsToAlarm, Properties.EvaluationPeriods]).toEqual([3, 5])
    }
  })

  it('cost what the page says.', () => {
    const { ofType } = synthesised()
    const read = ofType('AWS::CloudWatch::Alarm').flatMap(([, alarm]) => metricsOf(alarm)).length
    const page = readFileSync(join(root, 'docs/cost.md'), 'utf8').replaceAll(/\s+/g, ' ')
    expect(page).toContain(`${read} metrics under alarms $${(read / 10).toFixed(2)}`)
  })

  describe.each([1, 2, 4, 8, 16])('With %i sweepers', (sweepers) => {
    const { resources } = synthesised({ sweepers: String(sweepers) })
    const silent = resources.AlarmsSweeperIsSilent?.Properties
    const rings = (runs: number) => runs < silent.Threshold
    const each = 5

    it('one part that is dead for ten minutes rings, and a late or doubled run does not.', () => {
      expect(silent.ComparisonOperator).toBe('LessThanThreshold')
      expect(rings((sweepers - 1) * each)).toBe(true)
      for (const off of [-2, -1, 0, 1]) expect(rings(sweepers * each + off)).toBe(false)
    })

    it('the newest point may lack what is late.', () => {
      expect([silent.DatapointsToAlarm, silent.EvaluationPeriods]).toEqual([2, 3])
    })

    it('a part whose runs all crash or find no environment rings, and one run does not.', () => {
      for (const [id, metric] of [
        ['AlarmsSweeperCrashes', 'Errors'],
        ['AlarmsSweeperIsThrottled', 'Throttles'],
      ] as const) {
        const alarm = resources[id]?.Properties
        expect(alarm).toMatchObject({
          MetricName: metric,
          Statistic: 'Sum',
          Period: 300,
          ComparisonOperator: 'GreaterThanThreshold',
          DatapointsToAlarm: 2,
          EvaluationPeriods: 3,
          TreatMissingData: 'notBreaching',
        })
        expect([1 > alarm.Threshold, each > alarm.Threshold]).toEqual([false, true])
      }
    })
  })

  it('ask a person only if one has named a limit or a topic.', () => {
    const { resources, ofType } = synthesised()
    expect(resources.AlarmsItemsWaitTooLong).toBeUndefined()
    for (const [, { Properties }] of ofType('AWS::CloudWatch::Alarm')) {
      expect(Properties.AlarmActions).toBeUndefined()
    }
  })

  it('take silence for trouble only where silence is the trouble.', () => {
    const breaching = alarms.filter(
      ([, { Properties }]) => Properties.TreatMissingData === 'breaching',
    )
    expect(breaching.map(([id]) => id)).toEqual(['AlarmsSweeperIsSilent'])
  })
})

describe('The dashboard', () => {
  it('shows every metric that the functions write, and the alarms.', () => {
    const body = nameOf(made.resources.Dashboard?.Properties.DashboardBody)
    for (const metric of Object.keys(metrics)) {
      // What callers saw is the gateway's to say.
      if (metric !== 'Errors5xx') expect(body).toContain(`"${METRIC_NAMESPACE}","${metric}"`)
    }
    for (const [, { Properties }] of alarms) {
      expect(body).toContain(`:alarm:${Properties.AlarmName}"`)
    }
  })
})
