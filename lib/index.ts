// `pushpop`: the service as a construct for your own CDK app.

// This import comes first: if it refuses, those after it do not load.
import './needs-node.ts'

export type { FunctionName } from '../lambdas/runtime/names.ts'
export type { LogLevel } from '../shared/log-levels.ts'
export type {
  ConsumerFunction,
  PushPopConsumerProps,
  QueueSelection,
} from './constructs/consumer-props.ts'
export type { Events, EventsProps } from './constructs/events.ts'
export type { Bundling, Concurrency } from './constructs/function-settings.ts'
export type { Functions, ServiceFunction } from './constructs/functions.ts'
export type { Authorisation, HttpApi, Throttle } from './constructs/http-api.ts'
export type { Inbox } from './constructs/inbox.ts'
export { PushPop } from './constructs/push-pop.ts'
export { PushPopConsumer } from './constructs/push-pop-consumer.ts'
export { PushPopSchedule, type PushPopScheduleProps } from './constructs/push-pop-schedule.ts'
export type { PushPopProps } from './constructs/service-props.ts'
export type { StorageAccess } from './constructs/storage.ts'
export { Storage, type StorageProps } from './constructs/storage.ts'
export { PushPopStack, type PushPopStackProps } from './pushpop-stack.ts'
