// Rate limits in the table itself. Hides that no service is in between: what the engine decides becomes the answer that a
// caller over HTTP gets, with the same names and refusals.

import { setTimeout as delay } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { RateConfigurationAnswer, RatePatternsAnswer } from '../../client/api-types.ts'
import {
  allowedBody,
  givenUpBody,
  ownRevision,
  patternsBody,
  promisedBody,
  rateStateBody,
  ticketBody,
} from '../../lambdas/http/rate-bodies.ts'
import type { SettingsInput } from '../../rate/core/settings.ts'
import {
  type Admission,
  type AppliedSettings,
  createRateLimits,
  type Patterns,
} from '../../rate/rate-limits.ts'
import { camelCased, snakeCased } from '../../shared/wire.ts'
import { exitCodes, Failure, interrupted } from '../failure.ts'
import type { AwsSettings, StorePlace } from './place.ts'
import { fromAfar } from './store-target.ts'
import { type Answer, objectFrom, type Rates } from './target.ts'

/** The rate limiter on the table itself; its secret for tickets is in the table. */
export function openStoreRates(
  { table, asTyped }: StorePlace,
  aws: AwsSettings,
  interrupt: AbortSignal,
): Rates {
  const dynamodb = new DynamoDBClient({ ...aws, maxAttempts: 1, requestHandler: fromAfar() })
  const limits = createRateLimits({
    tableName: table,
    dynamodb,
    clock: {
      nowMs: () => Date.now(),
      async sleep(ms) {
        await delay(ms, undefined, { signal: interrupt }).catch(() => {
          throw interrupted('Stopped; if it had a place in line, that stays empty.')
        })
      },
    },
  })
  return {
    async decide(key, { maxRequests, maxRequestsInQueue, windowMillis, ...request }) {
      const overrides = { maxRequests, maxRequestsInQueue, windowMillis }
      const decision = await limits.admit(key, { ...request, overrides })
      if (decision.kind !== 'override-refused') return answer(decisionBody(key, decision))
      throw overrideRefused(key, decision.field)
    },
    state: async (key) => answer(rateStateBody(await limits.state(key))),
    configuration: async (key) => configurationAnswer(await limits.configuration(key)),
    configure: async (key, settings) =>
      configurationAnswer(await limits.configure(key, camelCased(settings) as SettingsInput)),
    unconfigure: async (key) => configurationAnswer(await limits.unconfigure(key)),
    patterns: async () => patternsAnswer(await limits.patterns()),
    async configurePatterns(patterns, etag) {
      const inputs = patterns.map((pattern) => {
        const { prefix, ...settings } = objectFrom(pattern)
        // The called function checks its contents.
        return { prefix: prefix as string, settings: camelCased(settings) as SettingsInput }
      })
      const ifMatch = etag === undefined ? undefined : Number(etag.replaceAll('"', ''))
      return patternsAnswer(await limits.configurePatterns(inputs, { ifMatch }))
    },
    async verify(key, ticket) {
      const state = await limits.verify(key, ticket)
      if (state.kind === 'invalid') throw ticketNotFound(key)
      return answer(ticketBody(state))
    },
    async giveUp(key, ticket) {
      const outcome = await limits.giveUp(key, ticket)
      if (outcome.kind === 'invalid') throw ticketNotFound(key)
      return answer(givenUpBody(outcome))
    },
    asTyped,
    close: () => dynamodb.destroy(),
  }
}

function decisionBody(
  key: string,
  decision: Exclude<Admission, { readonly kind: 'override-refused' }>,
): object {
  switch (decision.kind) {
    case 'allowed':
      return { allowed: true, ...allowedBody(decision) }
    case 'promised':
      return { allowed: false, ...promisedBody(decision) }
    case 'denied': {
      const { full, retryAfterMs } = decision
      const why = full === 'line' ? 'the line of those who wait is full' : 'its window is full'
      return {
        success: false,
        error_code: 'RATE_LIMITED',
        message: `Rate limit "${key}" lets nobody go because ${why}; try again in ${retryAfterMs} ms`,
        retryable: true,
        allowed: false,
        retry_after_ms: retryAfterMs,
      }
    }
    default:
      return decision satisfies never
  }
}

function answer<Body>(body: object, revision?: number): Answer<Body> {
  const text = JSON.stringify(body)
  const etag = revision === undefined ? undefined : `"${revision}"`
  return { body: JSON.parse(text) as Body, text, etag }
}

const configurationAnswer = (applied: AppliedSettings) =>
  answer<RateConfigurationAnswer>(snakeCased(applied.settings), ownRevision(applied))

const patternsAnswer = (patterns: Patterns) =>
  answer<RatePatternsAnswer>(patternsBody(patterns), patterns.revision)

const overrideRefused = (key: string, field: string): Failure =>
  new Failure(
    exitCodes.refused,
    `Cannot use ${field} because the configuration of ${key} allows no other limit than its own`,
    { code: 'OVERRIDE_REFUSED' },
  )

const ticketNotFound = (key: string): Failure =>
  new Failure(exitCodes.refused, `This is not a ticket of ${key} that was signed here`, {
    code: 'TICKET_NOT_FOUND',
  })
