import {
  InternalServerError,
  type ProvisionedThroughputExceededException,
  RequestLimitExceeded,
  ThrottlingException,
} from '@aws-sdk/client-dynamodb'
import type { S3ServiceException } from '@aws-sdk/client-s3'
import { throughputExceeded, withoutStack } from './dynamodb/errors.ts'
import { s3Error } from './s3/objects.ts'

/**
 * What a network may answer instead of the store, as the SDK reports it. "Definite" faults are
 * given without applying the request; after the others nobody but the store knows.
 */

// Definite: DynamoDB and S3 refuse before they do anything.

/** This item, partition or table has had its units for now. */
export function provisionedThroughputExceeded(): ProvisionedThroughputExceededException {
  return throughputExceeded()
}

export function throttling(): ThrottlingException {
  const message = 'Throughput exceeds the current capacity of your table or index.'
  return withoutStack(() => new ThrottlingException({ $metadata: clientFault, message }))
}

export function requestLimitExceeded(): RequestLimitExceeded {
  const message = 'Throughput exceeds the current throughput limit for your account.'
  return withoutStack(() => new RequestLimitExceeded({ $metadata: clientFault, message }))
}

export function slowDown(): S3ServiceException {
  return withoutStack(() => s3Error('SlowDown', 503, 'Please reduce your request rate.'))
}

// Unknown outcome: the request may have been carried out, or may still be.

export function internalServerError(): InternalServerError {
  const message = 'Internal server error'
  return withoutStack(
    () => new InternalServerError({ $metadata: { httpStatusCode: 500 }, message }),
  )
}

export function s3InternalError(): S3ServiceException {
  return withoutStack(() =>
    s3Error('InternalError', 500, 'We encountered an internal error. Please try again.'),
  )
}

/** As the SDK's HTTP handler gives it when no answer has come in time. */
export function requestTimeout(afterMs = 3000): Error {
  return withoutStack(() => {
    const error = new Error(`Connection timed out after ${afterMs} ms`)
    return Object.assign(error, { name: 'TimeoutError', code: 'ETIMEDOUT' })
  })
}

/** The connection broke, before or after the request got through. */
export function connectionReset(): Error {
  return withoutStack(() =>
    Object.assign(new Error('read ECONNRESET'), {
      name: 'TimeoutError',
      code: 'ECONNRESET',
      errno: -104,
      syscall: 'read',
    }),
  )
}

export { transactionCanceledByConflict, transactionConflict } from './dynamodb/errors.ts'

const clientFault = { httpStatusCode: 400 }
