// Runs all of it on this machine, with three devices: node scripts/bootstrap.mjs examples/devices/main.ts

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createClient } from '../../client/index.ts' // 'pushpop/client'
import { startLocalStack } from '../../testing/index.ts' // 'pushpop/testing'

const devices = ['pump-1', 'pump-2', 'pump-3']
const steps = ['close valve', 'rinse', 'fill', 'heat', 'open valve']

const done = new Map<string, string[]>(devices.map((device) => [device, []]))
/** A command may come again, should a process die between its work and its acknowledgement. */
const idsDone = new Set<string>()
/** `pump-2` is out of reach when its third command comes, and once more after that. */
let timesAway = 2

const server = createServer(async (request, response) => {
  const device = request.url?.slice(1) ?? ''
  let body = ''
  for await (const chunk of request) body += chunk
  const { id, step } = JSON.parse(body)
  const history = done.get(device) ?? []
  if (device === 'pump-2' && history.length === 2 && timesAway > 0) {
    timesAway -= 1
    console.log(`  ${device} is out of reach: "${step}" waits, and all behind it`)
    response.writeHead(503).end()
    return
  }
  if (!idsDone.has(id)) {
    idsDone.add(id)
    history.push(step)
    console.log(`  ${device}: ${step}`)
  }
  response.end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.env.DEVICES_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

console.log('Starting the stack …')
const stack = await startLocalStack({ port: 0, app: join(import.meta.dirname, 'app.ts') })
const client = createClient({ url: stack.url })

console.log(`Pushing ${steps.length} commands to each of ${devices.length} devices.`)
for (const device of devices) {
  const items = steps.map((step) => ({ item: { step } }))
  await client.queue(`device.${device}`).pushMany(items, { idempotent: true })
}
while ([...done.values()].some((history) => history.length < steps.length)) {
  await new Promise((resolve) => setTimeout(resolve, 100))
}

console.log('\nWhat each device has done:')
for (const [device, history] of done) {
  const order = history.join() === steps.join() ? 'in order' : 'OUT OF ORDER'
  console.log(`  ${device}: ${history.join(', ')} (${order})`)
}

await stack.stop()
server.close()
