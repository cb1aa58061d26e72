// What calls functions without a request: rules (schedules and events), streams of tables, and queues. What AWS would
// refuse when it is deployed is refused here too.

import { type InputTransformer, transformed } from '../events/event-language.ts'
import { messageOf, StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import {
  numberOf,
  objectOf,
  objectsOf,
  type ResolvedResource,
  type Resources,
} from './resources.ts'

/** Where an event of a rule goes. */
export type TargetPlan = (FunctionTarget | QueueTarget) & {
  /** Text of JSON that the target gets instead of the event. */
  readonly input?: string | undefined
  /** `$.detail`: the part of the event that the target gets. */
  readonly inputPath?: string | undefined
  readonly inputTransformer?: InputTransformer | undefined
}

type FunctionTarget = { readonly functionArn: string }
export type QueueTarget = {
  readonly queueUrl: string
  readonly messageGroupId?: string | undefined
}

export type SchedulePlan = {
  readonly id: string
  readonly arn: string
  /** `rate(1 minute)` */
  readonly expression: string
  readonly targets: readonly TargetPlan[]
}

export type EventRulePlan = {
  readonly id: string
  readonly busName: string
  readonly pattern: Readonly<Record<string, unknown>>
  readonly targets: readonly TargetPlan[]
}

export function planRules(resources: Resources, leftOut: string[]) {
  const schedules: SchedulePlan[] = []
  const eventRules: EventRulePlan[] = []
  for (const rule of resources.ofType('AWS::Events::Rule')) {
    if (rule.property('State') === 'DISABLED') continue
    const id = rule.logicalId
    const targets = planTargets(rule, resources, leftOut)
    const expression = rule.property('ScheduleExpression')
    const pattern = rule.property('EventPattern')
    if (typeof expression === 'string') schedules.push({ id, arn: rule.arn, expression, targets })
    if (isObject(pattern)) {
      eventRules.push({ id, busName: busNameOf(rule, resources), pattern, targets })
    }
  }
  return { schedules, eventRules }
}

function planTargets(
  rule: ResolvedResource,
  resources: Resources,
  leftOut: string[],
): TargetPlan[] {
  return objectsOf(rule, 'Targets').flatMap((target) => {
    const destination = destinationOf(rule, target, resources)
    if (!destination) {
      leftOut.push(
        `The rule ${rule.logicalId} has a target that is neither a function nor a queue of the template: it gets no events.`,
      )
      return []
    }
    const { Input, InputPath, InputTransformer } = target
    const inputTransformer = isObject(InputTransformer)
      ? transformerOf(InputTransformer)
      : undefined
    if (Input !== undefined) refuseOther(rule, String(Input), String(Input))
    if (inputTransformer) {
      refuseOther(rule, inputTransformer.template, transformed(inputTransformer, {}))
    }
    return [
      {
        ...destination,
        ...(Input !== undefined && { input: String(Input) }),
        ...(InputPath !== undefined && { inputPath: String(InputPath) }),
        ...(inputTransformer && { inputTransformer }),
      },
    ]
  })
}

/** EventBridge refuses it when it is deployed. */
function refuseOther({ logicalId }: ResolvedResource, given: string, made: string): void {
  try {
    JSON.parse(made)
  } catch {
    throw new StartError(
      `Cannot run the rule ${logicalId} because the input of its target is not JSON: ${given}`,
    )
  }
}

function transformerOf({
  InputPathsMap,
  InputTemplate,
}: Readonly<Record<string, unknown>>): InputTransformer {
  const paths = isObject(InputPathsMap) ? (InputPathsMap as Record<string, string>) : {}
  return { paths, template: String(InputTemplate) }
}

function destinationOf(
  { logicalId }: ResolvedResource,
  { Arn, SqsParameters }: Readonly<Record<string, unknown>>,
  resources: Resources,
): FunctionTarget | QueueTarget | undefined {
  const served = resources.find('AWS::Lambda::Function', Arn)
  if (served) return { functionArn: served.arn }
  const queue = resources.find('AWS::SQS::Queue', Arn)
  if (!queue) return undefined
  const group = isObject(SqsParameters) ? SqsParameters.MessageGroupId : undefined
  if (String(queue.property('FifoQueue')) === 'true' && group === undefined) {
    throw new StartError(
      `Cannot run the rule ${logicalId} because its target is a FIFO queue and has no MessageGroupId`,
    )
  }
  return { queueUrl: queue.ref, ...(group !== undefined && { messageGroupId: String(group) }) }
}

/** A rule names its bus, or gives its ARN; most give neither and mean the default one. */
function busNameOf(rule: ResolvedResource, resources: Resources): string {
  const given = rule.property('EventBusName')
  if (given === undefined) return 'default'
  return resources.find('AWS::Events::EventBus', given)?.ref ?? String(given)
}

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

const STREAM_BATCH_SIZE = 100

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
        batchSize: numberOf(mapping, 'BatchSize') ?? STREAM_BATCH_SIZE,
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

function patternsOf(mapping: ResolvedResource): Record<string, unknown>[] {
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

/** A function that gets the messages of a queue. */
export type QueueMappingPlan = {
  readonly id: string
  readonly functionArn: string
  readonly queueUrl: string
  readonly queueArn: string
  readonly isFifo: boolean
  /** A message is delivered if one of them fits; without any, each is. What fits none is deleted. */
  readonly patterns: readonly Readonly<Record<string, unknown>>[]
  readonly batchSize: number
  readonly windowMs: number
  readonly reportsItemFailures: boolean
  /** How many batches may be under way at once. */
  readonly concurrencyMax?: number | undefined
}

/** Lambda's own, as all that follows. */
const QUEUE_BATCH_SIZE = 10
const FIFO_BATCH_SIZE_MAX = 10
const BATCH_SIZE_MAX = 10_000
const TIMEOUT_SECONDS = 3
const VISIBILITY_SECONDS = 30

export function planQueueMappings(resources: Resources): QueueMappingPlan[] {
  return resources.ofType('AWS::Lambda::EventSourceMapping').flatMap((mapping) => {
    const queue = resources.find('AWS::SQS::Queue', mapping.property('EventSourceArn'))
    if (!queue || mapping.property('Enabled') === false) return []
    const served = resources.find('AWS::Lambda::Function', mapping.property('FunctionName'))
    if (!served) throw refusal(mapping, 'its function is not in the template')
    const obstacle = obstacleTo(mapping, queue, served)
    if (obstacle !== undefined) throw refusal(mapping, obstacle)
    return [
      {
        id: mapping.logicalId,
        functionArn: served.arn,
        queueUrl: queue.ref,
        queueArn: queue.arn,
        isFifo: isFifo(queue),
        patterns: patternsOf(mapping),
        batchSize: numberOf(mapping, 'BatchSize') ?? QUEUE_BATCH_SIZE,
        windowMs: windowSeconds(mapping) * 1000,
        reportsItemFailures: reportsItemFailures(mapping),
        concurrencyMax: concurrencyMaxOf(mapping),
      },
    ]
  })
}

/** A reason for which Lambda, too, would refuse the mapping. */
function obstacleTo(
  mapping: ResolvedResource,
  queue: ResolvedResource,
  served: ResolvedResource,
): string | undefined {
  const visibility = numberOf(queue, 'VisibilityTimeout') ?? VISIBILITY_SECONDS
  const timeout = numberOf(served, 'Timeout') ?? TIMEOUT_SECONDS
  if (visibility < timeout) {
    return `messages of ${queue.logicalId} are visible again after ${visibility} s, while its function may take ${timeout} s`
  }
  const batchSize = numberOf(mapping, 'BatchSize') ?? QUEUE_BATCH_SIZE
  const batchSizeMax = isFifo(queue) ? FIFO_BATCH_SIZE_MAX : BATCH_SIZE_MAX
  if (!(batchSize >= 1 && batchSize <= batchSizeMax)) {
    return `its BatchSize is ${batchSize}, and must be between 1 and ${batchSizeMax}`
  }
  if (isFifo(queue) && windowSeconds(mapping) > 0) {
    return 'a FIFO queue has no batching window (MaximumBatchingWindowInSeconds)'
  }
  if (batchSize > FIFO_BATCH_SIZE_MAX && windowSeconds(mapping) === 0) {
    return `its BatchSize is ${batchSize}, and a batch of more than ${FIFO_BATCH_SIZE_MAX} needs a batching window`
  }
  const concurrency = concurrencyMaxOf(mapping) ?? 2
  if (!(concurrency >= 2 && concurrency <= 1_000)) {
    return `its MaximumConcurrency is ${concurrency}, and must be between 2 and 1,000`
  }
  return undefined
}

const isFifo = (queue: ResolvedResource): boolean => String(queue.property('FifoQueue')) === 'true'

const windowSeconds = (mapping: ResolvedResource): number =>
  numberOf(mapping, 'MaximumBatchingWindowInSeconds') ?? 0

function concurrencyMaxOf(mapping: ResolvedResource): number | undefined {
  const { MaximumConcurrency } = objectOf(mapping, 'ScalingConfig')
  return MaximumConcurrency === undefined ? undefined : Number(MaximumConcurrency)
}

const refusal = ({ logicalId }: ResolvedResource, reason: string): StartError =>
  new StartError(`Cannot run ${logicalId} because ${reason}`)
