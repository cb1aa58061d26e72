// The limiter put together from its parts.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Clock, type DocumentPort, Dynamo, type Random } from '../aws/dynamo.ts'
import { needed } from '../shared/options.ts'
import { systemClock } from '../shared/system.ts'
import {
  type AppliedSettings,
  type ConfigureRequest,
  configureVerbs,
  type RateState,
  readPatterns,
} from './configure.ts'
import type { PatternInput, Patterns, Settings, SettingsInput } from './core/settings.ts'
import { decideRate, type RateDecision, type RateRequest, type Standing } from './decide.ts'
import { createSlotLimiter, KeptReading, type Limiter } from './limiter.ts'
import { GivenSecrets, type SecretSource, TableSecrets } from './secrets.ts'
import {
  type Admission,
  type AdmitRequest,
  type GivenUp,
  type TicketRequest,
  type TicketState,
  ticketVerbs,
} from './tickets.ts'

export type {
  Admission,
  AdmitRequest,
  AppliedSettings,
  GivenUp,
  Patterns,
  RateDecision,
  RateRequest,
  RateState,
  Settings,
  SettingsInput,
  Standing,
  TicketState,
}

export type RateLimitsOptions = {
  readonly tableName: string
  /** A client, a document client, or anything else that takes document commands. */
  readonly dynamodb: DynamoDBClient | DocumentPort
  /**
   * Signs tickets; 16 bytes or more, the same in every process. If it is a function, we call it when a ticket
   * first needs the secret. Without this option, a row of the table holds the secret: the first process that
   * needs it makes it, and `pushpop rate-secret` changes it.
   */
  readonly secret?: SecretSource | undefined
  /** Secrets that signed tickets before. Their tickets stay valid, so that you can change a secret. */
  readonly formerSecrets?: readonly Uint8Array[] | undefined
  readonly clock?: Clock | undefined
  /** From [0, 1). It varies pauses, and spreads callers without a name over shards. */
  readonly random?: Random | undefined
}

/** The rate limiter on the queues' table. The Lambdas and the tests use it, and so does code that needs no HTTP. */
export function createRateLimits(options: RateLimitsOptions): RateLimits {
  const { clock = systemClock, random = Math.random, formerSecrets = [] } = options
  const tableName = needed('createRateLimits', 'tableName', options.tableName)
  const dynamo = new Dynamo(options.dynamodb, tableName, clock, random)
  const { secret } = options
  const limiter: Limiter = {
    ...createSlotLimiter({ dynamo, clock, random }),
    patterns: new KeptReading(clock, () => readPatterns(dynamo)),
    secrets:
      secret === undefined
        ? new TableSecrets(dynamo, clock, formerSecrets)
        : new GivenSecrets(secret, formerSecrets),
  }
  return {
    decide: (key, request) => decideRate(limiter, key, request),
    ...ticketVerbs(limiter),
    ...configureVerbs(limiter),
  }
}

/**
 * The limiter's verbs. Expected outcomes are values; what a caller must act on is a `QueueError`;
 * anything else that is thrown is a bug of ours.
 */
export interface RateLimits {
  /** Answers at once: lets a request go, denies it, or promises it a turn. */
  decide(key: string, request?: RateRequest): Promise<RateDecision>
  /** The same, but waits for a turn that comes soon enough; for a later one, it gives a ticket. */
  admit(key: string, request?: AdmitRequest): Promise<Admission>
  state(key: string): Promise<RateState>
  configuration(key: string): Promise<AppliedSettings>
  configure(
    key: string,
    settings: SettingsInput,
    request?: ConfigureRequest,
  ): Promise<AppliedSettings>
  unconfigure(key: string, request?: ConfigureRequest): Promise<AppliedSettings>
  patterns(): Promise<Patterns>
  configurePatterns(
    patterns: readonly PatternInput[],
    request?: ConfigureRequest,
  ): Promise<Patterns>
  /** Reads nothing but the table's own secrets, every five minutes. */
  verify(key: string, ticket: string, request?: TicketRequest): Promise<TicketState>
  giveUp(key: string, ticket: string, request?: TicketRequest): Promise<GivenUp>
}
