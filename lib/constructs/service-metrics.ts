// The metrics that alarms and the dashboard show, and of what.

import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import {
  MathExpression,
  type MathExpressionOptions,
  Metric,
  type MetricOptions,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { tableDefinition } from '../../aws/table.ts'
import {
  type FunctionName,
  METRIC_NAMESPACE,
  type MetricName,
  SERVICE_DIMENSION,
} from '../../lambdas/runtime/names.ts'

/** What the alarms and the dashboard show. */
export type Watched = {
  readonly serviceName: string
  readonly api: HttpApi
  readonly functions: Readonly<Record<FunctionName, LambdaFunction>>
  readonly table: Table
  readonly failures: Queue
  /** Only with events: the function that announces them, and the queue for those that it gave up. */
  readonly events: { readonly announcer: LambdaFunction; readonly failures: Queue } | undefined
  /** Only with an inbox: its queue, the function that applies it, and the queue for messages that it gave up. */
  readonly inbox:
    | { readonly applier: LambdaFunction; readonly queue: Queue; readonly failures: Queue }
    | undefined
}

/** A metric that the functions write (`lambdas/runtime/names.ts`). */
export const serviceMetric = (
  serviceName: string,
  metricName: MetricName,
  options: MetricOptions = {},
): Metric =>
  new Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    dimensionsMap: { [SERVICE_DIMENSION]: serviceName },
    statistic: Stats.SUM,
    ...options,
  })

/** How many pops in a hundred were slow. No data where none was, or nobody pops: both are good. */
export const slowPops = (
  pop: IFunction,
  serviceName: string,
  options: MathExpressionOptions = {},
): MathExpression =>
  new MathExpression({
    expression: 'IF(calls > 0, 100 * slow / calls, 0)',
    label: 'slow pops, percent',
    usingMetrics: {
      calls: pop.metricInvocations(),
      slow: serviceMetric(serviceName, 'SlowPops'),
    },
    ...options,
  })

/** Metrics of the gateway: what callers saw, whether or not a function ran. */
export const apiMetric = (
  apiId: string,
  metricName: 'Count' | '4xx' | '5xx' | 'Latency' | 'IntegrationLatency',
  options: MetricOptions = {},
): Metric =>
  new Metric({
    namespace: 'AWS/ApiGateway',
    metricName,
    dimensionsMap: { ApiId: apiId },
    statistic: Stats.SUM,
    ...options,
  })

export const tableMetric = (
  tableName: string,
  metricName:
    | 'ConsumedWriteCapacityUnits'
    | 'ConsumedReadCapacityUnits'
    | 'WriteThrottleEvents'
    | 'ReadThrottleEvents',
  options: MetricOptions = {},
): Metric =>
  new Metric({
    namespace: 'AWS/DynamoDB',
    metricName,
    statistic: Stats.SUM,
    ...options,
    dimensionsMap: { TableName: tableName, ...options.dimensionsMap },
  })

/**
 * Requests that DynamoDB refused: one metric each for reads and writes of the table, and of each index, which
 * the table's own count leaves out. If an index cannot take a write, DynamoDB refuses the whole write.
 */
export const refusedMetrics = (
  tableName: string,
  options: MetricOptions = {},
): Readonly<Record<string, Metric>> => {
  const places = [
    { place: '', dimensionsMap: {} },
    ...tableDefinition.indexes.map(({ name }) => ({
      place: `_${name}`,
      dimensionsMap: { GlobalSecondaryIndexName: name },
    })),
  ]
  return Object.fromEntries(
    places.flatMap(({ place, dimensionsMap }) => {
      const of = { ...options, dimensionsMap }
      return [
        [`writes${place}`, tableMetric(tableName, 'WriteThrottleEvents', of)],
        [`reads${place}`, tableMetric(tableName, 'ReadThrottleEvents', of)],
      ]
    }),
  )
}
