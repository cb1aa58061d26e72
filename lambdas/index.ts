// `pushpop/engine`: the queues on a table and bucket, without the API.

export type { Configuration, ConfigurationChange } from './core/configuration.ts'
export { type ErrorCode, type ErrorDetails, QueueError } from './core/errors.ts'
export {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from './network/request-handler.ts'
export * from './queues.ts'
export type { Clock, DocumentPort, Random } from './store/dynamo.ts'
export type { ObjectPort, ObjectSource } from './store/objects.ts'
export {
  type TableDefinition,
  type TableIndex,
  type TableKey,
  tableDefinition,
} from './store/table.ts'
