import { isUnsent } from './shared/unsent.ts'

/**
 * What an SDK error says about the request: told apart by class name and status, in this one file,
 * never by text.
 */
export type Failure =
  /** A condition did not hold: nothing changed, and DynamoDB may have handed over the item. */
  | 'condition'
  /** A transaction was cancelled: nothing changed; its reasons say why. */
  | 'cancelled'
  /** For want of units; nothing changed, and trying again is right. */
  | 'throttled'
  /** A transaction is at work on the item; nothing changed, and it passes in milliseconds. */
  | 'conflict'
  /** It never left this machine: nothing changed, and trying again is right. */
  | 'unsent'
  /** Nothing changed: the request is wrong, or not allowed. A bug of ours, or a fault of the deployment. */
  | 'refused'
  | 'missing'
  /** The answer was lost, or is a fault of the service: it may have happened, or may still. */
  | 'unknown'

const byName: Readonly<Record<string, Failure>> = {
  ConditionalCheckFailedException: 'condition',
  TransactionCanceledException: 'cancelled',
  ProvisionedThroughputExceededException: 'throttled',
  ThrottlingException: 'throttled',
  Throttling: 'throttled',
  RequestLimitExceeded: 'throttled',
  RequestThrottled: 'throttled',
  TransactionConflictException: 'conflict',
  // The same token is being worked on.
  TransactionInProgressException: 'conflict',
  SlowDown: 'throttled',
  RequestNotSentError: 'unsent',
  RequestNotMadeError: 'refused',
  CredentialsProviderError: 'refused',
  NoSuchKey: 'missing',
  NotFound: 'missing',
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'unknown'
  const known = byName[error.name]
  if (known !== undefined) return known
  if (isUnsent(error)) return 'unsent'
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unknown'
}
