// `pushpop/testing`: for tests of code that pushes, pops, or is called with items. Each of these runs on
// this machine, beside any other, and leaves nothing behind. docs/testing.md

export type { RequestRecord } from '../local/gateway/gateway.ts'
export { StartError } from '../local/start-error.ts'
export {
  type Listeners,
  type LocalStack,
  type LocalStackOptions,
  startLocalStack,
} from '../local/start-local-stack.ts'
export {
  type Connections,
  connectEmbedded,
  type Embedded,
  type EmbeddedOptions,
  type StoreEndpoints,
  startEmbedded,
} from './embedded.ts'
export { startQueues, type TestQueues, type TestQueuesOptions } from './queues.ts'
