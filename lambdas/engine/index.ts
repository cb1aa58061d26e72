// `pushpop/engine`: the queues on a table and bucket, without the API.

import { NODE_OLDEST, needNode } from '../foundation/node-version.ts'

export type { Clock, DocumentPort, Random } from '../foundation/dynamo.ts'
export { type ErrorCode, type ErrorDetails, QueueError } from '../foundation/errors.ts'
export {
  createLeanDynamodb,
  type LeanDynamodb,
  type LeanDynamodbOptions,
} from '../foundation/lean/lean-dynamodb.ts'
export {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from '../foundation/network/request-handler.ts'
export type { ObjectPort, ObjectSource } from '../foundation/objects.ts'
export type { LingerOptions } from '../foundation/shared/linger/options.ts'
export {
  type TableDefinition,
  type TableIndex,
  type TableKey,
  tableDefinition,
} from '../foundation/table.ts'
export { createQueues } from './careful-queues.ts'
export {
  type Configuration,
  type ConfigurationChange,
  tagOf as configurationTag,
} from './core/configuration.ts'
export * from './queues.ts'

needNode(NODE_OLDEST, 'pushpop/engine')
