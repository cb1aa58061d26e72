// The actions of SQS, each from its input to its output. All but a receive answer at once.

import { ACCOUNT } from '../template/identities.ts'
import {
  bytesOf,
  isWhole,
  MESSAGE_BYTES_MAX,
  type MessageAttributes,
  md5,
  md5OfAttributes,
  type NewMessage,
  type Received,
} from './core/message.ts'
import type { Queue } from './core/queue.ts'
import { checkFifoIds, queueArn } from './core/queue-attributes.ts'
import type { Clockwork, LongPolls, Queues } from './core/queues.ts'
import { invalidParameter, SqsError } from './core/sqs-error.ts'
import {
  eachEntry,
  type Input,
  newMessage,
  objects,
  optionalNumber,
  optionalText,
  queueName,
  text,
  textMap,
  texts,
} from './input.ts'

type Place = {
  readonly queues: Queues
  readonly clock: Clockwork
  /** What a queue's URL begins with: the address by which the caller came. */
  readonly origin: string
}

type Action = (input: Input, place: Place) => object

/** Twelve hours. */
const VISIBILITY_SECONDS_MAX = 43_200

const urlOf = (name: string, { origin }: Place): string => `${origin}/${ACCOUNT}/${name}`

export const actions: Readonly<Record<string, Action>> = {
  CreateQueue(input, place) {
    const name = text(input, 'QueueName')
    place.queues.create(name, textMap(input, 'Attributes'))
    return { QueueUrl: urlOf(name, place) }
  },
  DeleteQueue(input, { queues }) {
    queues.delete(queueName(input))
    return {}
  },
  GetQueueUrl(input, place) {
    const { name } = place.queues.find(text(input, 'QueueName'))
    return { QueueUrl: urlOf(name, place) }
  },
  ListQueues(input, place) {
    const names = place.queues.names(optionalText(input, 'QueueNamePrefix'))
    return names.length === 0 ? {} : { QueueUrls: names.map((name) => urlOf(name, place)) }
  },
  GetQueueAttributes(input, { queues, clock }) {
    const all = attributesOf(queues.find(queueName(input)), clock.nowMs())
    const wanted = texts(input, 'AttributeNames')
    const isWanted = (name: string) => wanted.includes('All') || wanted.includes(name)
    const Attributes = Object.fromEntries(Object.entries(all).filter(([name]) => isWanted(name)))
    return { Attributes }
  },
  SetQueueAttributes(input, { queues }) {
    queues.setAttributes(queueName(input), textMap(input, 'Attributes'))
    return {}
  },
  PurgeQueue(input, { queues, clock }) {
    queues.find(queueName(input)).purge(clock.nowMs())
    return {}
  },
  SendMessage: (input, { queues }) => send(queues, queueName(input), newMessage(input)),
  SendMessageBatch(input, { queues }) {
    const { name, settings } = queues.find(queueName(input))
    const messages = objects(input, 'Entries').map(newMessage)
    checkBatchSize(messages)
    for (const message of messages) checkFifoIds(settings, message)
    return eachEntry(input, (entry) => send(queues, name, newMessage(entry)))
  },
  DeleteMessage(input, { queues, clock }) {
    queues.find(queueName(input)).delete(text(input, 'ReceiptHandle'), clock.nowMs())
    return {}
  },
  DeleteMessageBatch(input, { queues, clock }) {
    const queue = queues.find(queueName(input))
    return eachEntry(input, (entry) => {
      queue.delete(text(entry, 'ReceiptHandle'), clock.nowMs())
      return {}
    })
  },
  ChangeMessageVisibility: (input, { queues, clock }) =>
    changeVisibility(queues.find(queueName(input)), input, clock),
  ChangeMessageVisibilityBatch(input, { queues, clock }) {
    const queue = queues.find(queueName(input))
    return eachEntry(input, (entry) => changeVisibility(queue, entry, clock))
  },
}

function send(queues: Queues, name: string, message: NewMessage) {
  const { id, sequence } = queues.send(name, message)
  const { body, attributes, traceHeader } = message
  return {
    MessageId: id,
    MD5OfMessageBody: md5(body),
    ...(Object.keys(attributes).length > 0 && {
      MD5OfMessageAttributes: md5OfAttributes(attributes),
    }),
    ...(traceHeader !== undefined && {
      MD5OfMessageSystemAttributes: md5OfAttributes({
        AWSTraceHeader: { DataType: 'String', StringValue: traceHeader },
      }),
    }),
    ...(queues.find(name).settings.isFifo && { SequenceNumber: sequence }),
  }
}

function checkBatchSize(messages: readonly NewMessage[]): void {
  let bytes = 0
  for (const message of messages) bytes += bytesOf(message)
  if (bytes <= MESSAGE_BYTES_MAX) return
  throw new SqsError(
    'BatchRequestTooLong',
    `Batch requests cannot be longer than ${MESSAGE_BYTES_MAX} bytes. You have sent ${bytes} bytes.`,
  )
}

function changeVisibility(queue: Queue, input: Input, clock: Clockwork): object {
  const seconds = secondsWithin(input, 'VisibilityTimeout', VISIBILITY_SECONDS_MAX)
  const handle = text(input, 'ReceiptHandle')
  if (seconds === undefined) throw missingVisibility
  queue.changeVisibility(handle, seconds * 1000, clock.nowMs())
  return {}
}

const missingVisibility = new SqsError(
  'MissingRequiredParameterException',
  'The request must contain the parameter VisibilityTimeout.',
)

function secondsWithin(input: Input, name: string, max: number): number | undefined {
  const value = input[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && isWhole(value, 0, max)) return value
  throw invalidParameter(name, value, `Must be between 0 and ${max}, if provided.`)
}

function attributesOf(queue: Queue, nowMs: number): Readonly<Record<string, string>> {
  const { visible, inFlight, delayed } = queue.counts(nowMs)
  const { name, attributes, createdAtMs, modifiedAtMs } = queue.record
  const seconds = (ms: number) => String(Math.floor(ms / 1000))
  return {
    ...attributes,
    QueueArn: queueArn(name),
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    CreatedTimestamp: seconds(createdAtMs),
    LastModifiedTimestamp: seconds(modifiedAtMs),
  }
}

/** SQS's own. */
const RECEIVED_MAX = 10
const WAIT_SECONDS_MAX = 20

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

type Wanted = {
  readonly systemAttributes: readonly string[]
  readonly attributes: readonly string[]
}

/** A sender's id as AWS shows it; here, nobody has a name. */
const SENDER_ID = 'AIDACKCEVSQ6C2EXAMPLE'

export function receivedMessage(
  { message, delivery }: Received,
  isFifo: boolean,
  wanted: Wanted,
): Record<string, unknown> {
  const { id, body } = message
  const system = systemAttributes({ message, delivery }, isFifo, wanted.systemAttributes)
  const attributes = wantedAttributes(message.attributes, wanted.attributes)
  return {
    MessageId: id,
    ReceiptHandle: delivery.handle,
    MD5OfBody: md5(body),
    Body: body,
    ...(Object.keys(system).length > 0 && { Attributes: system }),
    ...(Object.keys(attributes).length > 0 && {
      MessageAttributes: attributes,
      MD5OfMessageAttributes: md5OfAttributes(attributes),
    }),
  }
}

function systemAttributes(
  { message, delivery }: Received,
  isFifo: boolean,
  wanted: readonly string[],
): Readonly<Record<string, string>> {
  const all: Readonly<Record<string, string | undefined>> = {
    ApproximateReceiveCount: String(delivery.receives),
    ApproximateFirstReceiveTimestamp: String(delivery.firstReceivedAtMs),
    SentTimestamp: String(message.sentAtMs),
    SenderId: SENDER_ID,
    SequenceNumber: isFifo ? message.sequence : undefined,
    MessageGroupId: message.groupId,
    MessageDeduplicationId: message.deduplicationId,
    AWSTraceHeader: message.traceHeader,
    DeadLetterQueueSourceArn: message.deadLetterSource,
  }
  return Object.fromEntries(
    Object.entries(all).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (wanted.includes('All') || wanted.includes(entry[0])),
    ),
  )
}

/** By name, by `prefix.*`, or all of them. */
function wantedAttributes(all: MessageAttributes, wanted: readonly string[]): MessageAttributes {
  const isWanted = (name: string) =>
    wanted.some(
      (one) =>
        one === 'All' || one === name || (one.endsWith('.*') && name.startsWith(one.slice(0, -2))),
    )
  return Object.fromEntries(Object.entries(all).filter(([name]) => isWanted(name)))
}
