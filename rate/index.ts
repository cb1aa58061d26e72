// `pushpop/rate-limits`: the rate limiter on a table, without the API and without the queues.

import { NODE_OLDEST, needNode } from '../shared/node-version.ts'
import { checkOptions, type Names, type Requests, refusingUnknown } from '../shared/options.ts'
import type { ConfigureRequest } from './configure.ts'
import type { Overrides } from './core/settings.ts'
import {
  type AdmitRequest,
  createRateLimits as createTrustingRateLimits,
  type RateLimits,
  type RateLimitsOptions,
  type RateRequest,
} from './rate-limits.ts'
import type { TicketRequest } from './tickets.ts'

export {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from '../aws/connections.ts'
export type { Clock, DocumentPort, Random } from '../aws/dynamo.ts'
export {
  type TableDefinition,
  type TableIndex,
  type TableKey,
  tableDefinition,
} from '../aws/table.ts'
export { type ErrorCode, type ErrorDetails, QueueError } from '../shared/errors.ts'
export type { ConfigureRequest } from './configure.ts'
export type { Turn } from './core/epoch.ts'
export type { Overrides, Pattern, PatternInput } from './core/settings.ts'
export * from './rate-limits.ts'
export {
  createTicketSecrets,
  type SecretSource,
  type SecretsChanged,
  type TicketSecrets,
  type TicketSecretsOptions,
  type TicketSecretVerbs,
} from './secrets.ts'
export type { TicketRequest } from './tickets.ts'

/** The limiter for callers whom no compiler may have checked: it refuses an option that it does not know. */
export function createRateLimits(options: RateLimitsOptions): RateLimits {
  checkOptions(options, optionNames)
  return refusingUnknown(createTrustingRateLimits(options), requestNames)
}

const optionNames: Names<RateLimitsOptions> = {
  tableName: 0,
  dynamodb: 0,
  secret: 0,
  formerSecrets: 0,
  clock: 0,
  random: 0,
}
const decide: Names<RateRequest> = { cost: 0, canWait: 0, overrides: 0, caller: 0, receivedMs: 0 }
const admit: Names<AdmitRequest> = { ...decide, maxWaitMs: 0 }
const overrides: Names<Overrides> = { maxRequests: 0, maxRequestsInQueue: 0, windowMillis: 0 }
const configure: Names<ConfigureRequest> = { ifMatch: 0, receivedMs: 0 }
const ticket: Names<TicketRequest> = { receivedMs: 0 }

const inOverrides = { at: 1, field: 'overrides', names: overrides }
const requestNames: Requests<RateLimits> = {
  decide: [{ at: 1, names: decide }, inOverrides],
  admit: [{ at: 1, names: admit }, inOverrides],
  configure: [{ at: 2, names: configure }],
  unconfigure: [{ at: 1, names: configure }],
  configurePatterns: [{ at: 1, names: configure }],
  verify: [{ at: 2, names: ticket }],
  giveUp: [{ at: 2, names: ticket }],
}

needNode(NODE_OLDEST, 'pushpop/rate-limits')
