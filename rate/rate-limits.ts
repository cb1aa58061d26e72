import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Clock, type DocumentPort, Dynamo, type Random } from '../aws/dynamo.ts'
import { needed } from '../shared/options.ts'
import { systemClock } from '../shared/system.ts'
import {
  type AppliedSettings,
  type ConfigureRequest,
  configureRate,
  configureRatePatterns,
  decodePatterns,
  type RateState,
  rateConfiguration,
  ratePatterns,
  rateState,
  unconfigureRate,
} from './configure.ts'
import { patternsKey, secretKey } from './core/row.ts'
import type { PatternInput, Patterns, Settings, SettingsInput } from './core/settings.ts'
import { decideRate, type RateDecision, type RateRequest, type Standing } from './decide.ts'
import { createSlotLimiter, KeptReading, type Limiter } from './limiter.ts'
import {
  decodeSecrets,
  forgetFormerSecrets,
  GivenSecrets,
  rotateSecret,
  type SecretSource,
  type SecretsChanged,
  storeTime,
  TableSecrets,
  type TicketSecrets,
} from './secrets.ts'
import {
  type Admission,
  type AdmitRequest,
  admit,
  type GivenUp,
  giveUp,
  type TicketRequest,
  type TicketState,
  verifyTicket,
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
  SecretsChanged,
  Settings,
  SettingsInput,
  Standing,
  TicketSecrets,
  TicketState,
}

// The limiter put together, and the secrets of its tickets alone, for the command that changes them.

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
    patterns: new KeptReading(clock, async () =>
      decodePatterns(await dynamo.get(patternsKey, true)),
    ),
    secrets:
      secret === undefined
        ? new TableSecrets(dynamo, clock, formerSecrets)
        : new GivenSecrets(secret, formerSecrets),
  }
  return {
    decide: (key, request) => decideRate(limiter, key, request),
    admit: (key, request) => admit(limiter, key, request),
    state: (key) => rateState(limiter, key),
    configuration: (key) => rateConfiguration(limiter, key),
    configure: (key, settings, request) => configureRate(limiter, key, settings, request),
    unconfigure: (key, request) => unconfigureRate(limiter, key, request),
    patterns: () => ratePatterns(limiter),
    configurePatterns: (patterns, request) => configureRatePatterns(limiter, patterns, request),
    verify: (key, ticket, request) => verifyTicket(limiter, key, ticket, request),
    giveUp: (key, ticket, request) => giveUp(limiter, key, ticket, request),
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

export type TicketSecretsOptions = Pick<RateLimitsOptions, 'tableName' | 'dynamodb'> & {
  readonly clock?: Clock | undefined
}

/** The secrets in the table. They sign the tickets of rate limits, unless the caller brings a secret. */
export function createTicketSecrets(options: TicketSecretsOptions): TicketSecretVerbs {
  const { tableName, clock = systemClock } = options
  const { port, nowMs } = storeTime(options.dynamodb, clock)
  const dynamo = new Dynamo(port, tableName, clock, Math.random)
  return {
    nowMs,
    read: async () => decodeSecrets(await dynamo.get(secretKey, true)),
    rotate: () => rotateSecret(dynamo, nowMs),
    forgetFormer: () => forgetFormerSecrets(dynamo, nowMs),
  }
}

export interface TicketSecretVerbs {
  /** The time by the store's clock, once it has answered. Changes use that, because our clock may be wrong. */
  nowMs(): number
  /** Undefined before the first ticket is signed. */
  read(): Promise<TicketSecrets | undefined>
  /** Makes a new secret. It begins to sign once every process knows it, and existing tickets stay valid. */
  rotate(): Promise<SecretsChanged>
  /** For use after a leak: voids every ticket that a former secret has signed. */
  forgetFormer(): Promise<SecretsChanged>
}
