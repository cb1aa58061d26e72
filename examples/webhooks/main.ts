// Runs all of it on this machine, with four tenants' endpoints: node scripts/bootstrap.mjs examples/webhooks/main.ts

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createClient, redriveQueues } from '../../client/index.ts' // 'pushpop/client'
import { startLocalStack } from '../../testing/index.ts' // 'pushpop/testing'

const tenants = ['shop', 'bank', 'gone', 'down']
const events = ['order.created', 'order.paid', 'order.shipped']

/** What each endpoint has taken, and how often it was asked. */
const taken = new Map<string, string[]>(tenants.map((tenant) => [tenant, []]))
const asked = new Map<string, number>(tenants.map((tenant) => [tenant, 0]))
let isMended = false

const endpoints = createServer(async (request, response) => {
  const tenant = request.url?.slice(1) ?? ''
  let body = ''
  for await (const chunk of request) body += chunk
  const times = (asked.get(tenant) ?? 0) + 1
  asked.set(tenant, times)
  const status = statusOf(tenant, times)
  if (status === 200) taken.get(tenant)?.push(JSON.parse(body).event)
  response.writeHead(status).end()
})

/** `shop` is well, `bank` stumbles twice, `gone` has moved away, and `down` fails until its tenant has fixed it. */
function statusOf(tenant: string, times: number): number {
  if (tenant === 'bank' && times <= 2) return 503
  if (tenant === 'gone') return 410
  return tenant === 'down' && !isMended ? 500 : 200
}

endpoints.listen(0, '127.0.0.1')
await once(endpoints, 'listening')
const { port } = endpoints.address() as AddressInfo

console.log('Starting the stack …')
const stack = await startLocalStack({ port: 0, app: join(import.meta.dirname, 'app.ts') })
const client = createClient({ url: stack.url })

console.log(`Pushing ${events.length} webhooks to each of ${tenants.length} tenants.`)
for (const tenant of tenants) {
  const url = `http://127.0.0.1:${port}/${tenant}`
  const items = events.map((event) => ({ item: { url, event, data: { order: 17 } } }))
  await client.queue(`webhooks.${tenant}`).pushMany(items, { idempotent: true })
}
await untilDelivered()
tell()

console.log('\nDead letters:')
for (const tenant of tenants) {
  for await (const item of client.queue(`webhooks.${tenant}-deadletter`).items()) {
    const { event } = item.value as { event: string }
    console.log(`  ${tenant}: ${event}, after ${item.priorDeliveries} tries: ${item.reason}`)
  }
}

console.log('\n"down" has fixed its endpoint: its dead letters go back to its queue.')
isMended = true
for await (const one of redriveQueues(client, { prefix: 'webhooks.down' })) {
  if (one.kind === 'failed') throw one.error
  console.log(`  ${one.id}: ${one.itemsRedriven} back`)
}
await untilDelivered()
tell()

await stack.stop()
endpoints.close()

/** Until no tenant's queue holds anything; dead letters stay where they are. */
async function untilDelivered(): Promise<void> {
  for (;;) {
    const states = await Promise.all(tenants.map((it) => client.queue(`webhooks.${it}`).inspect()))
    if (states.every(({ count, deadCount }) => count + deadCount === 0)) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function tell(): void {
  for (const [tenant, got] of taken) {
    const times = asked.get(tenant) ?? 0
    console.log(
      `  ${tenant}: ${got.length} of ${events.length} arrived, in ${times} requests ${got.length > 0 ? `(${got.join(', ')})` : ''}`.trimEnd(),
    )
  }
}
