// `pushpop/testing`: helps to test code that pushes, pops, or handles items. All of it runs on this machine,
// several at a time if you like, and leaves nothing behind. docs/testing.md

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
export {
  type FakeContext,
  type FakeContextOptions,
  fakeContext,
  startQueues,
  type TestQueues,
  type TestQueuesOptions,
} from './queues.ts'
