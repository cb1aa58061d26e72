import { isObject } from './assembly.ts'
import type { ResolvedResource, Resources } from './resources.ts'

export type QueuePlan = {
  readonly logicalId: string
  readonly name: string
  readonly arn: string
  /** On AWS. */
  readonly url: string
  readonly isFifo: boolean
  /** As SQS takes them. */
  readonly attributes: Readonly<Record<string, string>>
}

/** The rest (encryption, tags) makes no difference on one machine. */
const attributeNames = [
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'DelaySeconds',
  'FifoThroughputLimit',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'RedriveAllowPolicy',
  'RedrivePolicy',
  'VisibilityTimeout',
]

export const planQueues = (resources: Resources): QueuePlan[] =>
  resources.ofType('AWS::SQS::Queue').map(planQueue)

function planQueue(queue: ResolvedResource): QueuePlan {
  const attributes = attributeNames.flatMap((name): [string, string][] => {
    const value = queue.property(name)
    if (value === undefined) return []
    return [[name, isObject(value) ? JSON.stringify(value) : String(value)]]
  })
  return {
    logicalId: queue.logicalId,
    name: String(queue.attributes.QueueName),
    arn: queue.arn,
    url: queue.ref,
    isFifo: String(queue.property('FifoQueue')) === 'true',
    attributes: Object.fromEntries(attributes),
  }
}
