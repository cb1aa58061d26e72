// A message of SQS: what SQS refuses to take as one, its deliveries and their receipt handles, how long it is
// invisible, and the checksums that SQS sends back and the SDK compares.

import { createHash } from 'node:crypto'
import { invalidParameter, SqsError } from './sqs-error.ts'

export type MessageAttribute = {
  readonly DataType: string
  readonly StringValue?: string | undefined
  /** In base64, as it travels. */
  readonly BinaryValue?: string | undefined
}

export type MessageAttributes = Readonly<Record<string, MessageAttribute>>

/** A message as its sender gives it. */
export type NewMessage = {
  readonly body: string
  readonly attributes: MessageAttributes
  readonly traceHeader?: string | undefined
  readonly groupId?: string | undefined
  readonly deduplicationId?: string | undefined
  readonly delaySeconds?: number | undefined
}

export type Message = Omit<NewMessage, 'delaySeconds'> & {
  readonly id: string
  /** Twenty digits; it rises in the whole queue. Standard queues have it too, and do not show it. */
  readonly sequence: string
  readonly bytes: number
  readonly sentAtMs: number
  delayedUntilMs: number
  /** The ARN of the queue that gave it up. */
  readonly deadLetterSource?: string | undefined
  delivery: Delivery
}

/** The part of a message that changes with each delivery. */
export type Delivery = {
  readonly receives: number
  readonly firstReceivedAtMs: number
  readonly receivedAtMs: number
  /** In flight until then. */
  readonly invisibleUntilMs: number
  /** The handle of the last delivery; only this one deletes the message. */
  readonly handle: string
  /** A function of this stack has it, and ends with the stack. */
  readonly isForFunction?: true | undefined
}

/** A message, and the delivery that a receive made of it. */
export type Received = { readonly message: Message; readonly delivery: Delivery }

export const undelivered: Delivery = {
  receives: 0,
  firstReceivedAtMs: 0,
  receivedAtMs: 0,
  invisibleUntilMs: 0,
  handle: '',
}

/** The next of a message. A visibility of zero leaves it visible. */
export function nextDelivery(
  { delivery: { receives, firstReceivedAtMs } }: Message,
  visibilityMs: number,
  nowMs: number,
  handle: string,
  isForFunction = false,
): Delivery {
  return {
    receives: receives + 1,
    firstReceivedAtMs: receives === 0 ? nowMs : firstReceivedAtMs,
    receivedAtMs: nowMs,
    invisibleUntilMs: nowMs + visibilityMs,
    handle,
    ...(isForFunction && { isForFunction }),
  }
}

/** A message as its dead-letter queue takes it: it has waited its delay, and goes on counting its receives. */
export function deadLetterOf(
  message: Message,
  deadLetterSource: string,
  isFifo: boolean,
  nowMs: number,
): Message {
  const { receives, firstReceivedAtMs } = message.delivery
  return {
    ...message,
    // In a standard queue the time of retention goes on.
    sentAtMs: isFifo ? nowMs : message.sentAtMs,
    delayedUntilMs: 0,
    deadLetterSource,
    delivery: { ...undelivered, receives, firstReceivedAtMs },
  }
}

/** SQS's own: 1 MiB for a message, and for all messages of a batch. */
export const MESSAGE_BYTES_MAX = 1_048_576
const ATTRIBUTES_MAX = 10
const ATTRIBUTE_NAME_CHARACTERS_MAX = 256

export function bytesOf({ body, attributes }: Pick<NewMessage, 'body' | 'attributes'>): number {
  const ofAttributes = Object.entries(attributes).reduce(
    (bytes, [name, { DataType, StringValue = '', BinaryValue = '' }]) =>
      bytes +
      Buffer.byteLength(name) +
      Buffer.byteLength(DataType) +
      Buffer.byteLength(StringValue) +
      Buffer.byteLength(BinaryValue, 'base64'),
    0,
  )
  return Buffer.byteLength(body) + ofAttributes
}

/** Throws for what every queue refuses. */
export function checkMessage(message: NewMessage, bytesMax: number): void {
  const { body, attributes, delaySeconds, groupId, deduplicationId } = message
  if (body === '') throw missingBody
  if (!isXmlText(body)) throw new SqsError('InvalidMessageContents', INVALID_CONTENTS)
  checkAttributes(attributes)
  if (bytesOf(message) > bytesMax) {
    throw new SqsError(
      'InvalidParameterValueException',
      `One or more parameters are invalid. Reason: Message must be shorter than ${bytesMax} bytes.`,
    )
  }
  if (delaySeconds !== undefined && !isWhole(delaySeconds, 0, 900)) {
    throw invalidParameter('DelaySeconds', delaySeconds, 'DelaySeconds must be >= 0 and <= 900.')
  }
  checkId('MessageGroupId', groupId)
  checkId('MessageDeduplicationId', deduplicationId)
}

const missingBody = new SqsError(
  'MissingRequiredParameterException',
  'The request must contain the parameter MessageBody.',
)

const INVALID_CONTENTS =
  'Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | ' +
  '#xE000 to #xFFFD | #x10000 to #x10FFFF'

const isXmlText = (text: string): boolean =>
  /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u.test(text)

export const isWhole = (value: number, min: number, max: number): boolean =>
  Number.isInteger(value) && value >= min && value <= max

/** Letters, digits and punctuation of ASCII, 128 of them at most. */
function checkId(name: string, id: string | undefined): void {
  if (id === undefined || /^[!-~]{1,128}$/.test(id)) return
  throw invalidParameter(
    name,
    id,
    `${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
  )
}

function checkAttributes(attributes: MessageAttributes): void {
  const entries = Object.entries(attributes)
  if (entries.length > ATTRIBUTES_MAX) {
    const reason = `Number of message attributes [${entries.length}] exceeds the allowed maximum [10].`
    throw new SqsError('InvalidParameterValueException', reason)
  }
  for (const [name, attribute] of entries) {
    const problem = problemOf(name, attribute)
    if (problem) {
      throw new SqsError(
        'InvalidParameterValueException',
        `The message attribute '${name}' ${problem}.`,
      )
    }
  }
}

function problemOf(name: string, { DataType, StringValue, BinaryValue }: MessageAttribute) {
  const isName = /^[\w-]+(\.[\w-]+)*$/.test(name) && name.length <= ATTRIBUTE_NAME_CHARACTERS_MAX
  if (!isName || /^(aws|amazon)\./i.test(name)) return 'has an invalid name'
  const [kind] = DataType.split('.')
  switch (kind) {
    case 'String':
      if (!StringValue) return 'must contain a non-empty message attribute value'
      return isXmlText(StringValue) ? undefined : 'contains invalid characters'
    case 'Number':
      if (!StringValue) return 'must contain a non-empty message attribute value'
      return Number.isNaN(Number(StringValue)) ? 'is not a number' : undefined
    case 'Binary':
      return BinaryValue ? undefined : 'must contain a non-empty message attribute value'
    default:
      return 'has an invalid message attribute type: use String, Number or Binary'
  }
}

/** Twelve hours, counted from the receive. */
const INVISIBLE_MS_MAX = 43_200_000

type VisibilityChange = {
  readonly handle: string
  readonly visibilityMs: number
  readonly isFifo: boolean
}

/**
 * The delivery of a message, with another end; throws where that may not be. A standard queue asks neither whether the
 * message is in flight nor for the last handle: AWS's takes any that it has ever given for the message.
 */
export function changedVisibility(
  message: Message | undefined,
  isInFlight: boolean,
  { handle, visibilityMs, isFifo }: VisibilityChange,
  nowMs: number,
): Delivery {
  if (!message) {
    const reason = 'Message does not exist or is not available for visibility timeout change.'
    throw invalidParameter('ReceiptHandle', handle, reason)
  }
  const { delivery } = message
  if (isFifo && (delivery.handle !== handle || !isInFlight)) throw expiredHandle(handle)
  const invisibleUntilMs = nowMs + visibilityMs
  if (invisibleUntilMs <= delivery.receivedAtMs + INVISIBLE_MS_MAX) {
    return { ...delivery, invisibleUntilMs }
  }
  const reason = 'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]'
  throw invalidParameter('VisibilityTimeout', visibilityMs / 1000, reason)
}

export const expiredHandle = (handle: string): SqsError =>
  invalidParameter('ReceiptHandle', handle, 'The receipt handle has expired.')

export type Random = () => number

/** `c29tZSBxdWV1ZQ…`: the queue, the message, a number that nobody can guess. */
export const newHandle = (queue: string, messageId: string, random: Random): string =>
  Buffer.from(`${queue}|${messageId}|${newId(random)}`).toString('base64')

/** The message's id; throws if this is no handle of the queue. */
export function messageOf(handle: string, queue: string): string {
  const [name, id, secret, ...more] = Buffer.from(handle, 'base64').toString('utf8').split('|')
  if (name === queue && id && secret && more.length === 0) return id
  throw new SqsError(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${handle}" is not a valid receipt handle.`,
  )
}

/** In the form of a UUID. */
export function newId(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('')
  const part = (from: number, to: number) => hex.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-4${part(13, 16)}-a${part(17, 20)}-${part(20, 32)}`
}

export const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

/** The deduplication id in a queue with content-based deduplication. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Names in order, and before each name, type and value its length in four bytes. */
export function md5OfAttributes(attributes: MessageAttributes): string {
  const hash = createHash('md5')
  const add = (bytes: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    hash.update(length).update(bytes)
  }
  for (const name of Object.keys(attributes).sort(byBytes)) {
    const attribute = attributes[name] as MessageAttribute
    add(Buffer.from(name))
    add(Buffer.from(attribute.DataType))
    const { BinaryValue, StringValue = '' } = attribute
    hash.update(Buffer.from([BinaryValue === undefined ? 1 : 2]))
    add(BinaryValue === undefined ? Buffer.from(StringValue) : Buffer.from(BinaryValue, 'base64'))
  }
  return hash.digest('hex')
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
