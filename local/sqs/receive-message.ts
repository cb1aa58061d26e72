import { type Place, secondsWithin } from './actions.ts'
import { isWhole } from './core/message.ts'
import { invalidParameter, SqsError } from './core/sqs-error.ts'
import { type Input, optionalNumber, optionalText, queueName, texts } from './input.ts'
import type { LongPolls } from './long-polls.ts'
import { receivedMessage } from './received-message.ts'

/** SQS's own. */
const RECEIVED_MAX = 10
const WAIT_SECONDS_MAX = 20
const VISIBILITY_SECONDS_MAX = 43_200

export async function receiveMessage(
  input: Input,
  { queues, clock }: Place,
  polls: LongPolls,
  gone: AbortSignal,
): Promise<object> {
  const queue = queues.find(queueName(input))
  const { isFifo, waitMs } = queue.settings
  const max = optionalNumber(input, 'MaxNumberOfMessages') ?? 1
  if (!isWhole(max, 1, RECEIVED_MAX)) {
    const reason = `Must be between 1 and ${RECEIVED_MAX}, if provided.`
    throw invalidParameter('MaxNumberOfMessages', max, reason)
  }
  const waitSeconds = secondsWithin(input, 'WaitTimeSeconds', WAIT_SECONDS_MAX)
  const visibilitySeconds = secondsWithin(input, 'VisibilityTimeout', VISIBILITY_SECONDS_MAX)
  const attemptId = optionalText(input, 'ReceiveRequestAttemptId')
  const waitsMs = waitSeconds === undefined ? waitMs : waitSeconds * 1000
  // A receive of a FIFO queue, or one that waits, gets nothing and no error.
  if (!isFifo && waitsMs === 0 && queue.isFull(clock.nowMs())) {
    throw new SqsError('OverLimit', 'Too many messages in flight.')
  }
  const received = await polls.receive(
    queue.name,
    {
      max,
      ...(visibilitySeconds !== undefined && { visibilityMs: visibilitySeconds * 1000 }),
      ...(attemptId !== undefined && isFifo && { attemptId }),
      ...(input.IsForFunction === true && { isForFunction: true }),
    },
    waitsMs,
    gone,
  )
  const wanted = {
    // The older name and the newer.
    systemAttributes: [
      ...texts(input, 'AttributeNames'),
      ...texts(input, 'MessageSystemAttributeNames'),
    ],
    attributes: texts(input, 'MessageAttributeNames'),
  }
  return {
    ...(received.length > 0 && {
      Messages: received.map((one) => receivedMessage(one, isFifo, wanted)),
    }),
  }
}
