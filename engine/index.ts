// `pushpop/engine`: the queues on a table and bucket, without the API.

import { NODE_OLDEST, needNode } from '../shared/node-version.ts'

export {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from '../aws/connections.ts'
export type { Clock, DocumentPort, Random } from '../aws/dynamo.ts'
export {
  createLeanDynamodb,
  type LeanDynamodb,
  type LeanDynamodbOptions,
} from '../aws/lean-client.ts'
export type { ObjectPort, ObjectSource } from '../aws/objects.ts'
export {
  type TableDefinition,
  type TableIndex,
  type TableKey,
  tableDefinition,
} from '../aws/table.ts'
export { type ErrorCode, type ErrorDetails, QueueError } from '../shared/errors.ts'
export type { LingerOptions } from '../shared/linger.ts'
export { createQueues } from './checked-queues.ts'
export {
  type Configuration,
  type ConfigurationChange,
  tagOf as configurationTag,
} from './core/settings.ts'
export * from './queues.ts'

needNode(NODE_OLDEST, 'pushpop/engine')
