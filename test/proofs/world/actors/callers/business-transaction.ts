import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { QueueError } from '../../../../../lambdas/foundation/errors.ts'
import type { DocumentSender } from '../../../../../testing/simulated/simulated-client.ts'
import type { CommandOf } from './command.ts'
import type { SendBusinessTransaction, SendInLoop } from './perform.ts'

const definite = new Set([
  'TransactionCanceledException',
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
])

/** The caller's side of pushTransactItem; its errors in the words of the history. */
export function businessTransaction(
  dynamodb: DocumentSender,
  tableName: string,
): SendBusinessTransaction {
  return async (businessRow, entry) => {
    const row = { TableName: tableName, Item: { pk: businessRow, sk: 'business' } }
    const command = new TransactWriteCommand({ TransactItems: [{ Put: row }, entry] })
    try {
      return await dynamodb.send(command)
    } catch (cause) {
      const { name, message } = cause as Error
      if (definite.has(name)) {
        if (message.includes('ValidationError')) throw cause
        throw new QueueError('BUSY', `The caller's transaction: ${message}`, { cause })
      }
      throw new QueueError('STORE_UNAVAILABLE', `The caller's transaction: ${message}`, {
        outcome: 'unknown',
        cause,
      })
    }
  }
}

/** What a caller of `transact` sends: its errors are as the SDK throws them, and may be the caller's own. */
export const transactionInLoop =
  (dynamodb: DocumentSender, tableName: string): SendInLoop =>
  async ({ businessRow, own }, entries) => {
    if (own === 'throws') throw new OwnFailure('before it was sent')
    const condition = own === 'passes' ? 'attribute_not_exists(pk)' : 'attribute_exists(nowhere)'
    const Put = {
      TableName: tableName,
      Item: { pk: businessRow, sk: 'business' },
      ConditionExpression: condition,
    }
    try {
      await dynamodb.send(new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] }))
    } catch (error) {
      // As the SDK's retries note it, on errors of the network too.
      throw Object.assign(error as Error, { $metadata: { attempts: 1, totalRetryDelay: 0 } })
    }
  }

class OwnFailure extends Error {}

/** `transact` hands over what is the caller's own: right if it was, and then nothing is pushed. */
export function ownFailure(own: CommandOf<'transact'>['own'], error: unknown): unknown {
  if (error instanceof QueueError) return error
  const { name, message } = error as Error
  const isOwn =
    own === 'throws'
      ? error instanceof OwnFailure
      : own === 'refuses' && name === 'TransactionCanceledException'
  return isOwn ? new QueueError('BUSY', `The caller's own: ${message}`, { cause: error }) : error
}
