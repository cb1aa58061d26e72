// PushPop, and a function that tells every event of its bus.

import { join } from 'node:path'
import { Rule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import { Code, Function as PlainFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { App, Duration } from 'aws-cdk-lib/core'
import { EVENT_SOURCE } from '../../../../../lambdas/runtime/names.ts'
import { PushPopStack } from '../../../../../lib/pushpop-stack.ts'

const app = new App()
const stack = new PushPopStack(app, 'Listening', {
  service: { throwaway: true, sweepEvery: Duration.seconds(1) },
})
const listener = new PlainFunction(stack, 'Listener', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromAsset(join(import.meta.dirname, 'listener')),
})
const { events } = stack.service
if (events === undefined) throw new Error('There is nothing to listen to')
new Rule(stack, 'Everything', {
  eventBus: events.bus,
  eventPattern: { source: [EVENT_SOURCE] },
  targets: [new LambdaFunction(listener)],
})
app.synth()
