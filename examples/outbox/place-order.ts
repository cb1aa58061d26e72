import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Queues } from '../../lambdas/engine/index.ts' // 'pushpop/engine'

export type Order = { readonly id: string; readonly customer: string; readonly total: number }
type Stores = { readonly queues: Queues; readonly documents: DynamoDBDocumentClient }

/** A queue in use moves on between the entry and the transaction; each loss costs some milliseconds. */
const ATTEMPTS_MAX = 10

/**
 * Stores the order and queues its mail in one transaction: both happen, or neither does. There is no outbox
 * table, nobody polls it, and nothing is sent for an order that is not there.
 */
export async function placeOrder(
  { queues, documents }: Stores,
  order: Order,
): Promise<'placed' | 'there already'> {
  const mail = JSON.stringify({ to: order.customer, about: `order ${order.id}` })
  for (let attempt = 1; ; attempt += 1) {
    const TransactItems = [
      {
        Put: {
          TableName: 'orders',
          Item: order,
          ConditionExpression: 'attribute_not_exists(id)',
        },
      },
      await queues.pushTransactItem('mails', { text: mail }),
    ]
    try {
      await documents.send(new TransactWriteCommand({ TransactItems }))
      return 'placed'
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error
      const [own] = error.CancellationReasons ?? []
      if (own?.Code === 'ConditionalCheckFailed') return 'there already'
      // The queue was in the way, or another transaction: nothing happened, so we may try again.
      if (attempt === ATTEMPTS_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, 20 * attempt * Math.random()))
    }
  }
}
