import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Queues } from '../../engine/index.ts' // 'pushpop/engine'

export type Order = { readonly id: string; readonly customer: string; readonly total: number }
type Stores = { readonly queues: Queues; readonly documents: DynamoDBDocumentClient }

/**
 * Stores the order and queues its mail in one transaction: both happen, or neither does. There is no outbox
 * table, nobody polls it, and nothing is sent for an order that is not there.
 */
export async function placeOrder(
  { queues, documents }: Stores,
  order: Order,
): Promise<'placed' | 'there already'> {
  const mail = JSON.stringify({ to: order.customer, about: `order ${order.id}` })
  const Put = {
    TableName: 'orders',
    Item: order,
    ConditionExpression: 'attribute_not_exists(id)',
  }
  try {
    await queues.transact('mails', [{ text: mail }], (entries) =>
      documents.send(new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] })),
    )
    return 'placed'
  } catch (error) {
    // `transact` has tried again if the queue was in the way, so this error is our own.
    if (isThere(error)) return 'there already'
    throw error
  }
}

const isThere = (error: unknown): boolean =>
  error instanceof TransactionCanceledException &&
  error.CancellationReasons?.[0]?.Code === 'ConditionalCheckFailed'
