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
  TransactionConflictException: 'conflict',
  // The same token is being worked on.
  TransactionInProgressException: 'conflict',
  SlowDown: 'throttled',
  RequestNotSentError: 'unsent',
  CredentialsProviderError: 'refused',
  NoSuchKey: 'missing',
  NotFound: 'missing',
}

/** What failed, where a client has another request handler than ours: each comes before any sending. */
const callsBeforeSending = new Set(['getaddrinfo', 'connect'])
const codesBeforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  // The certificate of the other end is not trusted.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Not by the SDK's own time-out of connecting: that is a `TimeoutError` without a code, as is its
 * time-out of a silent socket, and in older versions that of any request.
 */
function isUnsent(error: Error): boolean {
  // One for each address of the host.
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every(isUnsent)
  }
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException
  return callsBeforeSending.has(syscall) || codesBeforeSending.has(code)
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'unknown'
  const known = byName[error.name]
  if (known !== undefined) return known
  if (isUnsent(error)) return 'unsent'
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unknown'
}
