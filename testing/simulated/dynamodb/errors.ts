// The errors with which DynamoDB itself answers. They are definite: nothing was written.

import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  IdempotentParameterMismatchException,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb'

const noMetadata = { httpStatusCode: 400, requestId: 'simulated', attempts: 1 }

/** A refused condition is an everyday answer here, and its stack trace would be half its cost. */
export function withoutStack<E extends Error>(make: () => E): E {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}

type ErrorClass<E> = new (options: {
  readonly $metadata: typeof noMetadata
  readonly message: string
}) => E

/** Makes an error of the SDK's own class, as its deserialisers do. */
export const errorOf =
  <E extends Error>(Class: ErrorClass<E>, message: string, httpStatusCode = 400) =>
  (): E =>
    withoutStack(() => new Class({ $metadata: { ...noMetadata, httpStatusCode }, message }))

export function validationError(message: string): DynamoDBServiceException {
  return new DynamoDBServiceException({
    name: 'ValidationException',
    $fault: 'client',
    $metadata: noMetadata,
    message,
  })
}

/**
 * A ValidationException that takes the table's schema to see: DynamoDB cancels a transaction because of it. What the
 * request alone shows (an expression, an item too large, an empty key) makes the whole transaction invalid.
 */
export class ItemError extends DynamoDBServiceException {
  constructor(message: string) {
    super({ name: 'ValidationException', $fault: 'client', $metadata: noMetadata, message })
    // The SDK's base class gives every error its own prototype.
    Object.setPrototypeOf(this, ItemError.prototype)
  }
}

export const itemError = (message: string): ItemError => new ItemError(message)

export function isValidationError(error: unknown): error is DynamoDBServiceException {
  return error instanceof DynamoDBServiceException && error.name === 'ValidationException'
}

export const conditionFailedMessage = 'The conditional request failed'

const conditionalCheckFailed = errorOf(ConditionalCheckFailedException, conditionFailedMessage)

/** Of its values errors know nothing, because what checks values throws errors. */
type StoredItem = Readonly<Record<string, unknown>>

/** `Item` is made when it is first looked at, as raw attribute values, as the SDK leaves it. */
export function conditionFailed(item: StoredItem | undefined): ConditionalCheckFailedException {
  const error = conditionalCheckFailed()
  if (item !== undefined) defineRawItem(error, item)
  return error
}

export type CancellationReason =
  | { readonly Code: 'None' }
  | { readonly Code: string; readonly Message: string; readonly item?: StoredItem | undefined }

export function transactionCanceled(
  reasons: readonly CancellationReason[],
): TransactionCanceledException {
  const codes = reasons.map((reason) => reason.Code).join(', ')
  return withoutStack(
    () =>
      new TransactionCanceledException({
        $metadata: noMetadata,
        message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
        CancellationReasons: reasons.map((reason) => {
          if (!('Message' in reason)) return { Code: reason.Code }
          const answer = { Code: reason.Code, Message: reason.Message }
          if (reason.item !== undefined) defineRawItem(answer, reason.item)
          return answer
        }),
      }),
  )
}

export const throughputExceeded = errorOf(
  ProvisionedThroughputExceededException,
  'The level of configured provisioned throughput for the table was exceeded. ' +
    'Consider increasing your provisioning level with the UpdateTable API.',
)

export const idempotentParameterMismatch = errorOf(
  IdempotentParameterMismatchException,
  'The request uses the same client token as a previous, but non-identical request.',
)

/** A transaction with the same token has begun and is not done. */
export const transactionInProgress = errorOf(
  TransactionInProgressException,
  'The transaction with the given request token is already in progress.',
)

export const resourceNotFound = errorOf(ResourceNotFoundException, 'Requested resource not found')

export const conflictReason = {
  Code: 'TransactionConflict',
  Message: 'Transaction is ongoing for the item',
} as const

/** A single write met a transaction on its item. */
export const transactionConflict = errorOf(TransactionConflictException, conflictReason.Message)

/** A transaction met another write on its item number `at`. */
export const transactionCanceledByConflict = (
  itemCount: number,
  at = 0,
): TransactionCanceledException =>
  transactionCanceled(
    Array.from({ length: itemCount }, (_, i) => (i === at ? conflictReason : { Code: 'None' })),
  )

function defineRawItem(target: object, item: StoredItem): void {
  let raw: Record<string, AttributeValue> | undefined
  Object.defineProperty(target, 'Item', {
    configurable: true,
    enumerable: true,
    get() {
      raw ??= toRawItem(item)
      return raw
    },
  })
}

function toRawItem(item: StoredItem): Record<string, AttributeValue> {
  const raw: Record<string, AttributeValue> = {}
  for (const name of Object.keys(item)) raw[name] = toRaw(item[name])
  return raw
}

function toRaw(value: unknown): AttributeValue {
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: value.toString() }
    case 'boolean':
      return { BOOL: value }
    default:
      if (value === null) return { NULL: true }
      if (Array.isArray(value)) return { L: value.map(toRaw) }
      if (value instanceof Uint8Array) return { B: value }
      return { M: toRawItem(value as StoredItem) }
  }
}
