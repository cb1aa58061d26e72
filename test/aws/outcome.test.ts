import {
  ConditionalCheckFailedException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  RequestLimitExceeded,
  ResourceNotFoundException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb'
import { NoSuchKey, S3ServiceException } from '@aws-sdk/client-s3'
import { expect, it } from 'vitest'
import { type Failure, failureOf, RequestNotSentError } from '../../aws/failures.ts'

const $metadata = { httpStatusCode: 400 }
const message = 'text that nobody reads'
const s3 = (name: string, httpStatusCode: number) =>
  new S3ServiceException({ name, message, $fault: 'server', $metadata: { httpStatusCode } })
const coded = (name: string, code: string) => Object.assign(new Error(message), { name, code })

const called = (syscall: string, code: string) =>
  Object.assign(new Error(message), { syscall, code })

const cases: readonly [string, unknown, Failure][] = [
  [
    'a condition that failed',
    new ConditionalCheckFailedException({ message, $metadata }),
    'condition',
  ],
  [
    'a cancelled transaction',
    new TransactionCanceledException({ message, $metadata }),
    'cancelled',
  ],
  [
    'an item out of units',
    new ProvisionedThroughputExceededException({ message, $metadata }),
    'throttled',
  ],
  ['an account out of units', new RequestLimitExceeded({ message, $metadata }), 'throttled'],
  [
    'a transaction in the way',
    new TransactionConflictException({ message, $metadata }),
    'conflict',
  ],
  [
    'a copy of the same transaction that is still at work',
    new TransactionInProgressException({ message, $metadata }),
    'unknown',
  ],
  ['S3 under load', s3('SlowDown', 503), 'throttled'],
  ['a connection that was refused', coded('Error', 'ECONNREFUSED'), 'unsent'],
  ['a name that is not known', coded('Error', 'ENOTFOUND'), 'unsent'],
  ['a connection that took too long', called('connect', 'ETIMEDOUT'), 'unsent'],
  ['a host that cannot be reached', called('connect', 'EHOSTUNREACH'), 'unsent'],
  ['a name that nobody could look up', called('getaddrinfo', 'EAI_FAIL'), 'unsent'],
  ['a certificate that is not trusted', coded('Error', 'SELF_SIGNED_CERT_IN_CHAIN'), 'unsent'],
  [
    'none of the addresses of a host',
    new AggregateError([called('connect', 'ECONNREFUSED'), called('connect', 'ENETUNREACH')]),
    'unsent',
  ],
  ['our own word for it', new RequestNotSentError('host', new Error(message)), 'unsent'],
  ['no credentials to sign it with', coded('CredentialsProviderError', ''), 'refused'],
  ['a missing object', new NoSuchKey({ message, $metadata: { httpStatusCode: 404 } }), 'missing'],
  ['a missing table', new ResourceNotFoundException({ message, $metadata }), 'refused'],
  ['a missing permission', s3('AccessDenied', 403), 'refused'],
  [
    'a fault of the service',
    new InternalServerError({ message, $metadata: { httpStatusCode: 500 } }),
    'unknown',
  ],
  ['an S3 that fails', s3('InternalError', 500), 'unknown'],
  ['a timeout', coded('TimeoutError', 'ETIMEDOUT'), 'unknown'],
  ['a timeout of nobody knows what', coded('TimeoutError', ''), 'unknown'],
  ['a host that went away', called('read', 'EHOSTUNREACH'), 'unknown'],
  ['a write that failed', called('write', 'EPIPE'), 'unknown'],
  ['several errors that say nothing', new AggregateError([]), 'unknown'],
  [
    'several errors of which one came later',
    new AggregateError([called('connect', 'ECONNREFUSED'), called('read', 'ECONNRESET')]),
    'unknown',
  ],
  ['a connection that broke', coded('TimeoutError', 'ECONNRESET'), 'unknown'],
  ['an aborted request', coded('AbortError', 'ABORT_ERR'), 'unknown'],
  ['an error of nobody', new Error(message), 'unknown'],
  ['no error at all', 'text', 'unknown'],
  ['nothing', undefined, 'unknown'],
]

it.each(cases)('What a failed request means is told apart: %s.', (_, error, expected) => {
  expect(failureOf(error)).toBe(expected)
})
