// `pushpop`: the service as a construct for your own CDK app.

// This import comes first: if it refuses, those after it do not load.
import './needs-node.ts'

export type { FunctionName } from '../lambdas/runtime/names.ts'
export type { Bundling } from './bundling/bundling.ts'
export type { Authorisation } from './constructs/authorisation.ts'
export type { Events, EventsProps } from './constructs/events.ts'
export type { Concurrency } from './constructs/function-settings.ts'
export type { Functions, LogLevel } from './constructs/functions.ts'
export type { HttpApi, Throttle } from './constructs/http-api.ts'
export type { Inbox } from './constructs/inbox.ts'
export { PushPop, type PushPopProps } from './constructs/push-pop.ts'
export {
  type ConsumerFunction,
  PushPopConsumer,
  type PushPopConsumerProps,
  type QueueSelection,
} from './constructs/push-pop-consumer.ts'
export { PushPopSchedule, type PushPopScheduleProps } from './constructs/push-pop-schedule.ts'
export type { ServiceFunction } from './constructs/service-function.ts'
export { Storage, type StorageProps } from './constructs/storage.ts'
export type { StorageAccess } from './constructs/storage-access.ts'
export { PushPopStack, type PushPopStackProps } from './pushpop-stack.ts'
