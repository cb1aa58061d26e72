import type { Clock, DocumentPort } from '../foundation/dynamo.ts'
import { createRateLimits, type RateLimits } from '../rate/rate-limits.ts'
import { documentsFromEnvironment } from './dynamodb-client.ts'
import { type Environment, required } from './environment.ts'
import { meteredDocuments } from './metered-ports.ts'
import { variables } from './variables.ts'

/** The rate limiter as its function uses it: a table and nothing else. */
export const createRateServices = (environment: Environment): RateLimits =>
  createRateLimitsOn(environment, documentsFromEnvironment())

/** The same on any store: a test brings its own. */
export const createRateLimitsOn = (
  environment: Environment,
  documents: DocumentPort,
  clock?: Clock,
): RateLimits =>
  createRateLimits({
    tableName: required(environment, variables.table),
    dynamodb: meteredDocuments(documents),
    clock,
  })
