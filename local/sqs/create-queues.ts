import { StartError } from '../start-error.ts'
import type { QueuePlan } from '../template/plan-queues.ts'
import { defaultAttributes } from './core/queue-attributes.ts'
import { type SqsApi, SqsApiError } from './sqs-api.ts'

/**
 * Makes the queues that are missing. Queues from an earlier start get the template's attributes, and the defaults for
 * those that the template no longer has.
 */
export async function createQueues(sqs: SqsApi, queues: readonly QueuePlan[]): Promise<void> {
  for (const { name, isFifo } of queues) {
    const Attributes = isFifo ? { FifoQueue: 'true' } : {}
    await refusedAs(name, sqs('CreateQueue', { QueueName: name, Attributes }))
  }
  // Only now: an attribute may name another queue.
  for (const { name, url, isFifo, attributes } of queues) {
    const Attributes = { ...defaultAttributes(isFifo), RedrivePolicy: '', ...attributes }
    await refusedAs(name, sqs('SetQueueAttributes', { QueueUrl: url, Attributes }))
  }
}

async function refusedAs(name: string, request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof SqsApiError)) throw error
    throw new StartError(`Cannot make the queue ${name} because ${error.message}`)
  }
}
