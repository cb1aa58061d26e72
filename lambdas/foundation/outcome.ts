import { isUnsent } from './shared/unsent.ts'

/**
 * What an SDK error says about the request. Only this file tells errors apart, by class name and status,
 * never by text.
 */
export type Failure =
  /** A condition did not hold: nothing changed, and DynamoDB may have returned the item. */
  | 'condition'
  /** A transaction was cancelled: nothing changed; its reasons say why. */
  | 'cancelled'
  /** DynamoDB lacked capacity units; nothing changed, and we should try again. */
  | 'throttled'
  /** A transaction is at work on the item; nothing changed, and the conflict ends within milliseconds. */
  | 'conflict'
  /** The request never left this machine: nothing changed, and we should try again. */
  | 'unsent'
  /** Nothing changed: the request is wrong, or not allowed. A bug of ours, or a fault of the deployment. */
  | 'refused'
  | 'missing'
  /** The answer was lost, or the service failed: the change may have happened, or may still happen. */
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
  // A copy with the same token, which somebody's client has sent again, is still at work: it may land.
  TransactionInProgressException: 'unknown',
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
