// The service, and a function that carries out the commands in the queues `device.…`: one queue for each device.

import { join } from 'node:path'
import { App, Duration } from 'aws-cdk-lib/core'
import { PushPopConsumer } from '../../lib/constructs/push-pop-consumer.ts' // 'pushpop'
import { PushPopStack } from '../../lib/pushpop-stack.ts' // 'pushpop'

const app = new App()
const stack = new PushPopStack(app, 'Devices', {
  // For trying out: the data goes with the stack.
  service: { throwaway: true },
})

new PushPopConsumer(stack, 'CarryOut', {
  service: stack.service,
  queues: { prefix: 'device.' },
  function: {
    entry: join(import.meta.dirname, 'carry-out.ts'),
    timeout: Duration.minutes(1),
    environment: { DEVICES_URL: process.env.DEVICES_URL ?? 'http://localhost:9000' },
  },
  // Ten commands in one call. More locks at once would give up the order.
  batchSize: 10,
})

app.synth()
