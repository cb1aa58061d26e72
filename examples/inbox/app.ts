// An app like yours: the service with an inbox, and a rule that pushes without a line of code.

import { EventField, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events'
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets'
import { App } from 'aws-cdk-lib/core'
import type { Events } from '../../lib/constructs/events.ts' // 'pushpop'
import type { Inbox } from '../../lib/constructs/inbox.ts' // 'pushpop'
import { PushPopStack } from '../../lib/pushpop-stack.ts' // 'pushpop'

const app = new App()
const stack = new PushPopStack(app, 'Alerts', {
  // For trying out: the data goes with the stack.
  service: { throwaway: true, inbox: true },
})
const { inbox, events } = stack.service as { inbox: Inbox; events: Events }

// Whenever a queue gives up on items, except on alerts themselves, the rule pushes an item to the queue `alerts`.
new Rule(stack, 'AlertOfDeadLetters', {
  eventBus: events.bus,
  eventPattern: {
    source: ['pushpop'],
    detailType: ['Item Dead-Lettered'],
    detail: { queue: [{ 'anything-but': ['alerts'] }] },
  },
  targets: [
    new SqsQueue(inbox.queue, {
      messageGroupId: 'alerts',
      message: RuleTargetInput.fromObject({
        item: {
          // Makes each body different, because SQS drops a second one that is the same, for five minutes.
          event: EventField.fromPath('$.detail.id'),
          queue: EventField.fromPath('$.detail.queue'),
          items: EventField.fromPath('$.detail.items'),
          reason: EventField.fromPath('$.detail.reason'),
        },
        priority: 0,
      }),
    }),
  ],
})

app.synth()
