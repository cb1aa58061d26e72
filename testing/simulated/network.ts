// The network between a writer and the simulated store: the `send` of the SDK's clients on one side, `apply` of the
// store on the other, and the errors of a network that answers in place of the store, as the SDK reports them.

import {
  InternalServerError,
  RequestLimitExceeded,
  ThrottlingException,
} from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { errorOf, withoutStack } from './dynamodb/errors.ts'
import { s3Error } from './objects.ts'
import type { SimulatedRequest, SimulatedStore } from './store.ts'

export {
  throughputExceeded as provisionedThroughputExceeded,
  transactionCanceledByConflict,
  transactionConflict,
} from './dynamodb/errors.ts'

/**
 * The network between a writer and the store. It may call `apply` at once, later, or never, and answer with the
 * result or with a fault.
 */
export interface Network {
  deliver<T>(request: SimulatedRequest, apply: () => T): Promise<T>
}

export type DocumentSender = Pick<DynamoDBDocumentClient, 'send'>
export type ObjectSender = Pick<S3Client, 'send'>

/** One virtual writer's view of the store, with the `send` of the SDK's two clients. */
interface SimulatedClient {
  readonly dynamodb: DocumentSender
  readonly s3: ObjectSender
}

interface Command {
  readonly input: object
}

export function createSimulatedClient(
  store: SimulatedStore,
  network: Network = perfectNetwork,
): SimulatedClient {
  const sender = (service: SimulatedRequest['service']) => ({
    send(command: Command): Promise<unknown> {
      const { input } = command
      const request: SimulatedRequest = { service, name: command.constructor.name, input }
      const sentMs = store.nowMs()
      return network.deliver(request, () => store.apply(request, sentMs))
    },
  })
  return {
    dynamodb: sender('dynamodb') as unknown as DocumentSender,
    s3: sender('s3') as unknown as ObjectSender,
  }
}

/** Applies at once and answers: the network of tests that are not about the network. */
export const perfectNetwork: Network = {
  async deliver(_request, apply) {
    return apply()
  },
}

/** A network on which each transaction holds its items for a while, as on AWS; nothing else takes time. */
export function slowTransactions(
  store: SimulatedStore,
  sleep: (ms: number) => Promise<void>,
  holdMs: () => number,
): Network {
  return {
    async deliver<T>(request: Parameters<Network['deliver']>[0], apply: () => T): Promise<T> {
      if (request.name !== 'TransactWriteCommand') return apply()
      const finish = store.begin(request)
      await sleep(holdMs())
      return finish() as T
    },
  }
}

// Definite: DynamoDB and S3 refuse before they do anything, and have not carried out the request.

export const throttling = errorOf(
  ThrottlingException,
  'Throughput exceeds the current capacity of your table or index.',
)

export const requestLimitExceeded = errorOf(
  RequestLimitExceeded,
  'Throughput exceeds the current throughput limit for your account.',
)

export const slowDown = () => s3Error('SlowDown', 503, 'Please reduce your request rate.')

// Unknown: the request may have been carried out, or may still be.

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
