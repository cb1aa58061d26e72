// Runs all of it on an embedded DynamoDB: node scripts/bootstrap.mjs examples/outbox/main.ts

import { CreateTableCommand } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { startQueues } from '../../testing/index.ts' // 'pushpop/testing'
import { type Order, placeOrder } from './place-order.ts'

const store = await startQueues()
const { queues, dynamodb } = store
const documents = DynamoDBDocumentClient.from(dynamodb)
await dynamodb.send(
  new CreateTableCommand({
    TableName: 'orders',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  }),
)

const orderOf = (n: number): Order => ({
  id: `${n}`,
  customer: `customer-${n}@example.com`,
  total: 10 * n,
})
const place = async (order: Order) => {
  console.log(`Order ${order.id}: ${await placeOrder({ queues, documents }, order)}`)
}

await place(orderOf(1))
console.log('The same order again, because its customer has clicked twice:')
await place(orderOf(1))
console.log('Eight orders at once:')
await Promise.all(Array.from({ length: 8 }, (_, n) => place(orderOf(n + 2))))

const { Count: orders } = await documents.send(new ScanCommand({ TableName: 'orders' }))
console.log(
  `\n${orders} orders are stored, and ${(await queues.inspect('mails')).count} mails wait.`,
)

console.log('Sending the mails:')
let sent = 0
for (;;) {
  const popped = await queues.pop('mails', { requireAck: true, count: 10 })
  if (popped.kind !== 'items' || popped.lock === undefined) break
  for (const { text } of popped.items) console.log(`  mail ${text}`)
  sent += popped.items.length
  await queues.acknowledge('mails', { lockId: popped.lock.id })
}
console.log(`${sent} mails for ${orders} orders.`)
await store.stop()
