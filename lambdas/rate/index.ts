// `pushpop/rate-limits`: the rate limiter on a table, without the API and without the queues.

import { NODE_OLDEST, needNode } from '../foundation/node-version.ts'

export type { Clock, DocumentPort, Random } from '../foundation/dynamo.ts'
export { type ErrorCode, type ErrorDetails, QueueError } from '../foundation/errors.ts'
export {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from '../foundation/network/request-handler.ts'
export {
  type TableDefinition,
  type TableIndex,
  type TableKey,
  tableDefinition,
} from '../foundation/table.ts'
export { createRateLimits } from './careful-rate-limits.ts'
export type { Pattern, PatternInput } from './core/patterns.ts'
export type { Overrides } from './core/settings.ts'
export type { Turn } from './core/turn.ts'
export type { ConfigureRequest } from './operations/configure.ts'
export type { SecretSource } from './operations/secrets-reader.ts'
export type { TicketRequest } from './operations/tickets.ts'
export * from './rate-limits.ts'
export {
  createTicketSecrets,
  type SecretsChanged,
  type TicketSecrets,
  type TicketSecretsOptions,
  type TicketSecretVerbs,
} from './ticket-secrets.ts'

needNode(NODE_OLDEST, 'pushpop/rate-limits')
