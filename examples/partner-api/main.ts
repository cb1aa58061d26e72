// Runs all of it on this machine: node scripts/bootstrap.mjs examples/partner-api/main.ts

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from '../../client/index.ts' // 'pushpop/client'
import { startLocalStack } from '../../testing/index.ts' // 'pushpop/testing'
import { type Call, callPartner } from './call-partner.ts'

const CALLS = 20
const THEIRS = 10
const WORKERS = 2
/**
 * However late their calls arrive, the workers make no more than this and one each in any second, and one more where
 * the second begins between two turns.
 */
const OURS = THEIRS - WORKERS - 1

/** The partner allows ten calls in any second, and refuses others. */
const arrivals: number[] = []
let refused = 0
let busiest = 0
const partner = createServer((_, response) => {
  const nowMs = performance.now()
  const lately = arrivals.filter((ms) => ms > nowMs - 1_000).length
  if (lately >= THEIRS) {
    refused += 1
    response.writeHead(429).end()
    return
  }
  arrivals.push(nowMs)
  busiest = Math.max(busiest, lately + 1)
  response.end()
})
partner.listen(0, '127.0.0.1')
await once(partner, 'listening')
const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}`

console.log('Starting the stack …')
const stack = await startLocalStack({ port: 0 })
const client = createClient({ url: stack.url })
const queue = client.queue<Call>('partner-calls')

await client.rate('partner').configure({ maxRequests: OURS, algorithm: 'smooth' })
await queue.pushMany(Array.from({ length: CALLS }, (_, n) => ({ item: { customer: n + 1 } })))
console.log(
  `${CALLS} calls wait in the queue; the partner allows ${THEIRS} a second, and we make ${OURS}.`,
)

const stop = new AbortController()
const workers = Array.from({ length: WORKERS }, () =>
  callPartner(client, queue, { url, signal: stop.signal }),
)
const startedMs = performance.now()
while ((await queue.inspect({ consistent: true })).count > 0) {
  await new Promise((resolve) => setTimeout(resolve, 500))
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`  after ${seconds} s: ${arrivals.length} of ${CALLS} calls made`)
}
stop.abort()
await Promise.all(workers)

console.log(
  `\nAll ${arrivals.length} calls were made by ${WORKERS} workers, ${busiest} in the busiest second.`,
)
console.log(`The partner refused ${refused}.`)
await stack.stop()
partner.close()
