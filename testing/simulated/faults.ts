import {
  InternalServerError,
  RequestLimitExceeded,
  ThrottlingException,
} from '@aws-sdk/client-dynamodb'
import { errorOf, withoutStack } from './dynamodb/errors.ts'
import { s3Error } from './s3/objects.ts'

/**
 * A network's answers in place of the store, as the SDK reports them. After a "definite" fault the
 * store has not carried out the request; after the others the caller cannot know.
 */

// Definite: DynamoDB and S3 refuse before they do anything.

export {
  throughputExceeded as provisionedThroughputExceeded,
  transactionCanceledByConflict,
  transactionConflict,
} from './dynamodb/errors.ts'

export const throttling = errorOf(
  ThrottlingException,
  'Throughput exceeds the current capacity of your table or index.',
)

export const requestLimitExceeded = errorOf(
  RequestLimitExceeded,
  'Throughput exceeds the current throughput limit for your account.',
)

export const slowDown = () => s3Error('SlowDown', 503, 'Please reduce your request rate.')

// Unknown outcome: the request may have been carried out, or may still be.

export const internalServerError = errorOf(InternalServerError, 'Internal server error', 500)

export const s3InternalError = () =>
  s3Error('InternalError', 500, 'We encountered an internal error. Please try again.')

const timeoutError = (message: string, more: object): Error =>
  withoutStack(() => Object.assign(new Error(message), { name: 'TimeoutError', ...more }))

/** The error of the SDK's HTTP handler when no answer has come in time. */
export const requestTimeout = (afterMs = 3000): Error =>
  timeoutError(`Connection timed out after ${afterMs} ms`, { code: 'ETIMEDOUT' })

/** The connection broke, before or after the request got through. */
export const connectionReset = (): Error =>
  timeoutError('read ECONNRESET', { code: 'ECONNRESET', errno: -104, syscall: 'read' })
