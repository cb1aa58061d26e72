import { Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import {
  METRIC_NAMESPACE,
  type MetricName,
  SERVICE_DIMENSION,
} from '../../lambdas/telemetry/metric-names.ts'

/** A metric that the functions write (`lambdas/telemetry/metric-names.ts`). */
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

/** Of the gateway: what callers saw, whether or not a function ran. */
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
    dimensionsMap: { TableName: tableName },
    statistic: Stats.SUM,
    ...options,
  })
