// The service with one consumer for each way that things can go, all with the same handler.

import { join } from 'node:path'
import { App, Duration } from 'aws-cdk-lib/core'
import type { PushPopConsumerProps } from '../../../../lib/constructs/consumer-props.ts'
import { PushPopConsumer } from '../../../../lib/constructs/push-pop-consumer.ts'
import { PushPopStack } from '../../../../lib/pushpop-stack.ts'

const app = new App()
const stack = new PushPopStack(app, 'Consumed', {
  service: { throwaway: true, alarms: false, dashboard: false },
})
const entry = join(import.meta.dirname, 'do-as-told.ts')

function consume(
  id: string,
  props: Omit<PushPopConsumerProps, 'service' | 'function'>,
  timeoutSeconds = 60,
): void {
  new PushPopConsumer(stack, id, {
    service: stack.service,
    function: { entry, timeout: Duration.seconds(timeoutSeconds) },
    ...props,
  })
}

const lockTtl = Duration.seconds(5)
consume('Idle', { queues: { prefix: 'idle-' } })
consume('Orderly', { queues: { prefix: 'orderly-' }, batchSize: 10, queuesAtOnce: 4 })
consume('Sharing', { queues: 'sharing', batchSize: 10, locksAtOnce: 4 })
consume('Poisoned', { queues: ['poisoned', 'deadly'], batchSize: 3, lockTtl, maxDeliveries: 3 })
consume('Long', { queues: 'long', lockTtl })
consume('Limited', { queues: ['limited', 'many'], lockTtl }, 10)

app.synth()
