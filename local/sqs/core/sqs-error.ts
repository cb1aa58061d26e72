// The errors of SQS. The SDK reads the class from `__type`; programs written for the query protocol read the older
// code, which SQS still sends in a header.

const coral = 'com.amazon.coral.service#'
const modelled = 'com.amazonaws.sqs#'
const older = 'AWS.SimpleQueueService.'

const codes = {
  BatchEntryIdsNotDistinct: [modelled, `${older}BatchEntryIdsNotDistinct`],
  BatchRequestTooLong: [modelled, `${older}BatchRequestTooLong`],
  EmptyBatchRequest: [modelled, `${older}EmptyBatchRequest`],
  InvalidAttributeName: [modelled, 'InvalidAttributeName'],
  InvalidAttributeValue: [modelled, 'InvalidAttributeValue'],
  InvalidBatchEntryId: [modelled, `${older}InvalidBatchEntryId`],
  InvalidMessageContents: [modelled, 'InvalidMessageContents'],
  InvalidParameterValueException: [coral, 'InvalidParameterValue'],
  MissingRequiredParameterException: [coral, 'MissingParameter'],
  OverLimit: [modelled, 'OverLimit'],
  PurgeQueueInProgress: [modelled, `${older}PurgeQueueInProgress`],
  QueueDeletedRecently: [modelled, `${older}QueueDeletedRecently`],
  QueueDoesNotExist: [modelled, `${older}NonExistentQueue`],
  QueueNameExists: [modelled, 'QueueAlreadyExists'],
  ReceiptHandleIsInvalid: [modelled, 'ReceiptHandleIsInvalid'],
  SerializationException: [coral, 'MalformedInput'],
  TooManyEntriesInBatchRequest: [modelled, `${older}TooManyEntriesInBatchRequest`],
  UnknownOperationException: [coral, 'InvalidAction'],
} as const satisfies Readonly<Record<string, readonly [string, string]>>

export type SqsErrorName = keyof typeof codes

export class SqsError extends Error {
  override readonly name: SqsErrorName

  constructor(name: SqsErrorName, message: string) {
    super(message)
    this.name = name
  }

  /** Of the answer. */
  get status(): 400 | 403 {
    return this.name === 'PurgeQueueInProgress' ? 403 : 400
  }

  /** As the JSON protocol names it. */
  get type(): string {
    return codes[this.name][0] + this.name
  }

  /** As the query protocol named it, and entries of batches still do. */
  get code(): string {
    return codes[this.name][1]
  }
}

export const invalidParameter = (name: string, value: unknown, reason: string): SqsError =>
  new SqsError(
    'InvalidParameterValueException',
    `Value ${value} for parameter ${name} is invalid. Reason: ${reason}`,
  )

export const missingParameter = (name: string): SqsError =>
  new SqsError(
    'MissingRequiredParameterException',
    `The request must contain the parameter ${name}.`,
  )
