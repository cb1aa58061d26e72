import { messageOf, StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import { numberOf, objectOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

/** A function that gets the records of a table's stream. */
export type StreamPlan = {
  readonly id: string
  readonly functionArn: string
  readonly tableName: string
  /** The ARN that the function sees; the embedded DynamoDB uses another one. */
  readonly streamArn: string
  /** A record is delivered if one of them fits; without any, each is. */
  readonly patterns: readonly Readonly<Record<string, unknown>>[]
  readonly batchSize: number
  readonly windowMs: number
  readonly bisects: boolean
  readonly reportsItemFailures: boolean
  /** Absent: for as long as the stream keeps the record. */
  readonly retriesMax?: number | undefined
  readonly recordAgeMaxMs?: number | undefined
  /** The logical id of the queue for what was given up, or its ARN if it is elsewhere. */
  readonly failureQueue?: string | undefined
}

const BATCH_SIZE = 100

export function planStreams(resources: Resources, leftOut: string[]): StreamPlan[] {
  return resources.ofType('AWS::Lambda::EventSourceMapping').flatMap((mapping) => {
    if (mapping.property('Enabled') === false) return []
    const source = mapping.property('EventSourceArn')
    const table = resources
      .ofType('AWS::DynamoDB::Table')
      .find(({ attributes }) => attributes.StreamArn === source)
    if (resources.find('AWS::SQS::Queue', source)) return []
    if (!table) {
      leftOut.push(
        `${mapping.logicalId} reads neither a table's stream nor a queue of the template: its function gets no events.`,
      )
      return []
    }
    const served = resources.find('AWS::Lambda::Function', mapping.property('FunctionName'))
    if (!served) {
      throw new StartError(
        `Cannot run ${mapping.logicalId} because its function is not in the template`,
      )
    }
    if ((numberOf(mapping, 'TumblingWindowInSeconds') ?? 0) > 0) {
      throw new StartError(
        `Cannot run ${mapping.logicalId} because it has a tumbling window, which the local stack does not have`,
      )
    }
    const retries = nonNegative(numberOf(mapping, 'MaximumRetryAttempts'))
    const age = nonNegative(numberOf(mapping, 'MaximumRecordAgeInSeconds'))
    const queue = failureQueueOf(mapping, resources)
    return [
      {
        id: mapping.logicalId,
        functionArn: served.arn,
        tableName: table.ref,
        streamArn: String(source),
        patterns: patternsOf(mapping),
        batchSize: numberOf(mapping, 'BatchSize') ?? BATCH_SIZE,
        windowMs: (numberOf(mapping, 'MaximumBatchingWindowInSeconds') ?? 0) * 1000,
        bisects: mapping.property('BisectBatchOnFunctionError') === true,
        reportsItemFailures: reportsItemFailures(mapping),
        retriesMax: retries,
        ...(age !== undefined && { recordAgeMaxMs: age * 1000 }),
        failureQueue: queue,
      },
    ]
  })
}

/** -1 is how a mapping says that there is no limit. */
const nonNegative = (limit: number | undefined) =>
  limit !== undefined && limit >= 0 ? limit : undefined

export const reportsItemFailures = (mapping: ResolvedResource): boolean =>
  JSON.stringify(mapping.property('FunctionResponseTypes') ?? []).includes(
    'ReportBatchItemFailures',
  )

export function patternsOf(mapping: ResolvedResource): Record<string, unknown>[] {
  const { Filters } = objectOf(mapping, 'FilterCriteria')
  return (Array.isArray(Filters) ? Filters : []).map((filter) => {
    try {
      const pattern: unknown = JSON.parse(isObject(filter) ? String(filter.Pattern) : '')
      if (isObject(pattern)) return pattern
      throw new Error('it is not a JSON object')
    } catch (error) {
      throw new StartError(
        `Cannot run ${mapping.logicalId} because of one of its filters: ${messageOf(error)}`,
      )
    }
  })
}

function failureQueueOf(mapping: ResolvedResource, resources: Resources): string | undefined {
  const { OnFailure } = objectOf(mapping, 'DestinationConfig')
  const destination = isObject(OnFailure) ? OnFailure.Destination : undefined
  if (destination === undefined) return undefined
  return resources.find('AWS::SQS::Queue', destination)?.logicalId ?? String(destination)
}
