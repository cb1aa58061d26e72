// The attributes of a queue, which travel as text, the settings that they mean, and what they ask of a message.

import { ACCOUNT, REGION } from '../../template/identities.ts'
import { isWhole, MESSAGE_BYTES_MAX, type NewMessage, sha256 } from './message.ts'
import { invalidParameter, missingParameter, SqsError } from './sqs-error.ts'

export type QueueAttributes = Readonly<Record<string, string>>

export type QueueSettings = {
  readonly isFifo: boolean
  readonly delayMs: number
  readonly retentionMs: number
  readonly visibilityMs: number
  readonly waitMs: number
  readonly messageBytesMax: number
  readonly deduplicatesByContent: boolean
  /** Whether an id counts in its group, or in the whole queue. */
  readonly deduplicationScope: 'messageGroup' | 'queue'
  readonly redrive?: Redrive | undefined
}

type Redrive = { readonly targetArn: string; readonly receivesMax: number }

type NumberAttribute = {
  readonly min: number
  readonly max: number
  readonly default: number
}

/** SQS's own bounds and defaults. */
const numbers: Readonly<Record<string, NumberAttribute>> = {
  DelaySeconds: { min: 0, max: 900, default: 0 },
  MaximumMessageSize: { min: 1_024, max: MESSAGE_BYTES_MAX, default: MESSAGE_BYTES_MAX },
  MessageRetentionPeriod: { min: 60, max: 1_209_600, default: 345_600 },
  ReceiveMessageWaitTimeSeconds: { min: 0, max: 20, default: 0 },
  VisibilityTimeout: { min: 0, max: 43_200, default: 30 },
}

const fifoOnly: Readonly<Record<string, readonly string[]>> = {
  ContentBasedDeduplication: ['true', 'false'],
  DeduplicationScope: ['queue', 'messageGroup'],
  FifoThroughputLimit: ['perQueue', 'perMessageGroupId'],
}

/** Kept and shown; on one machine they make no difference. */
const withoutEffect = new Set([
  'KmsMasterKeyId',
  'KmsDataKeyReusePeriodSeconds',
  'Policy',
  'RedriveAllowPolicy',
  'SqsManagedSseEnabled',
])

export const queueArn = (name: string): string => `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`

export const defaultAttributes = (isFifo: boolean): QueueAttributes => ({
  ...Object.fromEntries(Object.entries(numbers).map(([name, it]) => [name, String(it.default)])),
  ...(isFifo && {
    FifoQueue: 'true',
    ContentBasedDeduplication: 'false',
    DeduplicationScope: 'queue',
    FifoThroughputLimit: 'perQueue',
  }),
})

/** Throws for what SQS refuses. An attribute that is empty goes back to its default. */
export function changeAttributes(old: QueueAttributes, change: QueueAttributes): QueueAttributes {
  const isFifo = old.FifoQueue === 'true'
  const defaults = defaultAttributes(isFifo)
  const changed: Record<string, string | undefined> = { ...old }
  for (const [name, value] of Object.entries(change)) {
    checkAttribute(name, value, isFifo)
    changed[name] = value === '' ? defaults[name] : value
  }
  const { FifoThroughputLimit, DeduplicationScope } = changed
  if (FifoThroughputLimit === 'perMessageGroupId' && DeduplicationScope !== 'messageGroup') {
    throw new SqsError(
      'InvalidAttributeValue',
      'FifoThroughputLimit can be perMessageGroupId only if DeduplicationScope is messageGroup.',
    )
  }
  return Object.fromEntries(
    Object.entries(changed).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function checkAttribute(name: string, value: string, isFifo: boolean): void {
  const invalid = new SqsError(
    'InvalidAttributeValue',
    `Invalid value for the parameter ${name}: ${JSON.stringify(value)}.`,
  )
  const number = numbers[name]
  if (number) {
    if (value === '' || isWhole(Number(value), number.min, number.max)) return
    throw invalid
  }
  if (name === 'FifoQueue' && isFifo) {
    if (value === 'true') return
    throw invalid
  }
  if (name === 'RedrivePolicy') {
    if (value === '' || readRedrive(value)) return
    throw invalid
  }
  const values = fifoOnly[name]
  if (values) {
    if (!isFifo) {
      throw new SqsError(
        'InvalidAttributeName',
        `You can specify ${name} only when FifoQueue is set to true.`,
      )
    }
    if (value === '' || values.includes(value)) return
    throw invalid
  }
  if (withoutEffect.has(name)) return
  throw new SqsError('InvalidAttributeName', `Unknown Attribute ${name}.`)
}

export function settingsOf(attributes: QueueAttributes): QueueSettings {
  const ms = (name: string) => Number(attributes[name]) * 1000
  return {
    isFifo: attributes.FifoQueue === 'true',
    delayMs: ms('DelaySeconds'),
    retentionMs: ms('MessageRetentionPeriod'),
    visibilityMs: ms('VisibilityTimeout'),
    waitMs: ms('ReceiveMessageWaitTimeSeconds'),
    messageBytesMax: Number(attributes.MaximumMessageSize),
    deduplicatesByContent: attributes.ContentBasedDeduplication === 'true',
    deduplicationScope: attributes.DeduplicationScope === 'messageGroup' ? 'messageGroup' : 'queue',
    redrive: attributes.RedrivePolicy ? readRedrive(attributes.RedrivePolicy) : undefined,
  }
}

const RECEIVES_MAX = 1_000

function readRedrive(policy: string): Redrive | undefined {
  try {
    const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(policy) as Record<string, unknown>
    const receivesMax = Number(maxReceiveCount)
    if (typeof deadLetterTargetArn !== 'string' || !isWhole(receivesMax, 1, RECEIVES_MAX)) {
      return undefined
    }
    return { targetArn: deadLetterTargetArn, receivesMax }
  } catch {
    return undefined
  }
}

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
