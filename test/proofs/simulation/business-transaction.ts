import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import type { DocumentSender } from '../../../testing/simulated/simulated-client.ts'
import type { SendBusinessTransaction } from './perform.ts'

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
