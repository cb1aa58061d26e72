// An app like yours: the service, and a function that works its queues `orders…`.

import { join } from 'node:path'
import { App, Duration } from 'aws-cdk-lib/core'
import { PushPopConsumer } from '../../lib/constructs/push-pop-consumer.ts' // 'pushpop'
import { PushPopStack } from '../../lib/pushpop-stack.ts' // 'pushpop'

const app = new App()
const stack = new PushPopStack(app, 'Orders', {
  // For trying out: the data goes with the stack.
  service: { throwaway: true },
})

new PushPopConsumer(stack, 'Ship', {
  service: stack.service,
  queues: { prefix: 'orders' },
  function: { entry: join(import.meta.dirname, 'ship.ts'), timeout: Duration.minutes(1) },
  batchSize: 10,
  maxDeliveries: 3,
})

app.synth()
