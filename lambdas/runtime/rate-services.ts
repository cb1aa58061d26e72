import type { Clock, DocumentPort } from '../../aws/dynamo.ts'
import { createRateLimits, type RateLimits } from '../../rate/rate-limits.ts'
import { type Environment, required } from './log.ts'
import { variables } from './names.ts'
import { documentsFromEnvironment, meteredDocuments } from './stores.ts'

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
