import { StartError } from '../start-error.ts'
import { patternsOf, reportsItemFailures } from './plan-streams.ts'
import { numberOf, objectOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

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
const BATCH_SIZE = 10
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
        batchSize: numberOf(mapping, 'BatchSize') ?? BATCH_SIZE,
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
  const batchSize = numberOf(mapping, 'BatchSize') ?? BATCH_SIZE
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
