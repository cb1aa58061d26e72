// The service, and a function that delivers the webhooks in the queues `webhooks.…`: one queue for each tenant.

import { join } from 'node:path'
import { App, Duration } from 'aws-cdk-lib/core'
import { PushPopConsumer } from '../../lib/constructs/push-pop-consumer.ts' // 'pushpop'
import { PushPopStack } from '../../lib/pushpop-stack.ts' // 'pushpop'

const app = new App()
const stack = new PushPopStack(app, 'Webhooks', {
  // For trying out: the data goes with the stack.
  service: { throwaway: true },
})

new PushPopConsumer(stack, 'Deliver', {
  service: stack.service,
  queues: { prefix: 'webhooks.' },
  function: { entry: join(import.meta.dirname, 'deliver.ts'), timeout: Duration.minutes(1) },
  // So that trying it takes seconds. With 15, an endpoint may be down for two hours.
  maxDeliveries: 3,
})

app.synth()
