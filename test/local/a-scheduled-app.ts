// A CDK app with a schedule in code: the item that its context names, if any.

import { App } from 'aws-cdk-lib/core'
import { PushPopSchedule } from '../../lib/constructs/push-pop-schedule.ts'
import { PushPopStack } from '../../lib/pushpop-stack.ts'

const app = new App()
const stack = new PushPopStack(app, 'Reports', { service: { throwaway: true } })
const item: unknown = app.node.tryGetContext('item')

if (item !== undefined) {
  new PushPopSchedule(stack, 'Weekly', {
    ...{ service: stack.service, queue: 'reports', name: 'weekly' },
    ...{ cron: '0 9 * * 1', timeZone: 'Europe/Berlin', item },
  })
}

app.synth()
