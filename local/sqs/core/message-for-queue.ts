import { sha256 } from './digest.ts'
import type { NewMessage } from './message.ts'
import type { QueueSettings } from './queue-attributes.ts'
import { invalidParameter, missingParameter, SqsError } from './sqs-error.ts'

/** The message as a queue of this kind takes it; throws if it does not. */
export function messageFor(
  { isFifo, deduplicatesByContent }: QueueSettings,
  given: NewMessage,
): NewMessage {
  const { delaySeconds = 0, ...message } = given
  if (!isFifo) {
    if (message.deduplicationId === undefined) return given
    throw notOfThisType('MessageDeduplicationId', message.deduplicationId)
  }
  // SQS ignores a zero.
  if (delaySeconds !== 0) throw notOfThisType('DelaySeconds', delaySeconds)
  if (message.groupId === undefined) throw missingParameter('MessageGroupId')
  if (message.deduplicationId !== undefined) return message
  if (deduplicatesByContent) return { ...message, deduplicationId: sha256(message.body) }
  throw missingDeduplicationId
}

const missingDeduplicationId = new SqsError(
  'InvalidParameterValueException',
  'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
)

/** SQS refuses a batch whole if one of its messages lacks its group or its id for deduplication. */
export function checkFifoIds(
  { isFifo, deduplicatesByContent }: QueueSettings,
  { groupId, deduplicationId }: NewMessage,
): void {
  if (!isFifo) return
  if (groupId === undefined) {
    throw new SqsError('InvalidParameterValueException', missingParameter('MessageGroupId').message)
  }
  if (deduplicationId === undefined && !deduplicatesByContent) throw missingDeduplicationId
}

const notOfThisType = (name: string, value: unknown): SqsError =>
  invalidParameter(
    name,
    value,
    'The request include parameter that is not valid for this queue type',
  )
