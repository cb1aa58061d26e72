/**
 * What an SDK error says about the request: told apart by class name and status, in this one file,
 * never by text.
 */
export type Failure =
  /** A condition did not hold: nothing changed, and DynamoDB may have handed over the item. */
  | 'condition'
  /** A transaction was cancelled: nothing changed; its reasons say why. */
  | 'cancelled'
  /** Nothing changed, and trying again is right. */
  | 'throttled'
  /** Nothing changed: the request is wrong, or not allowed. A fault of ours or of the deployment. */
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
  // A transaction holds the item, or the same token is being worked on: both pass in milliseconds.
  TransactionConflictException: 'throttled',
  TransactionInProgressException: 'throttled',
  SlowDown: 'throttled',
  NoSuchKey: 'missing',
  NotFound: 'missing',
}

/** Errors of the connection that say that the request never left. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])

const throttlings = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'RequestLimitExceeded',
])

/** Refused for want of units, not because a transaction was in the way. */
export const isThrottling = (error: unknown): boolean =>
  error instanceof Error && throttlings.has(error.name)

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'unknown'
  const known = byName[error.name]
  if (known !== undefined) return known
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } }
  if (typeof code === 'string' && neverSent.has(code)) return 'throttled'
  const status = $metadata?.httpStatusCode
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unknown'
}
