import { snakeCased } from '../../lambdas/foundation/shared/wire-names.ts'
import type { CallOptions, MatchOptions } from '../queue.ts'
import { patternBodies } from '../queue-patterns.ts'
import type { Send } from '../transport.ts'
import { patternRequests, rateRequests } from './requests.ts'
import {
  decisionOf,
  type GivenUp,
  givenUpOf,
  patternsOf,
  type RateConfiguration,
  type RateDecision,
  type RatePattern,
  type RatePatterns,
  type RateSettings,
  type RateState,
  rateConfigurationOf,
  rateStateOf,
  type TicketState,
  ticketStateOf,
} from './views.ts'
import { type Waited, type WaitOptions, wait } from './wait.ts'

/** A call may bring its own limit if the key is not configured, or its configuration allows that. */
export type DecideOptions = CallOptions & {
  /** Whether a place in a later window will do as well. Default false. */
  readonly canWait?: boolean | undefined
  /**
   * How long the call may wait in the service for its turn: 0–20,000, default 10,000. The service has its own maximum,
   * 2,000 unless changed. `wait` sleeps in this process instead, for as long as you like.
   */
  readonly maxWaitMs?: number | undefined
  /** As how many requests it counts, all in one window. Default 1. */
  readonly cost?: number | undefined
  /** Names the caller: if the key has several shards, one caller's requests keep their order. */
  readonly caller?: string | undefined
  readonly maxRequests?: number | undefined
  readonly maxRequestsInQueue?: number | undefined
  readonly windowMillis?: number | undefined
  /**
   * Ask again if the answer was lost. Each lost answer may have taken a slot, which then stays empty; nobody
   * gets two turns. Default true; if false, the error says `outcome: 'unknown'`.
   */
  readonly repeatLost?: boolean | undefined
}

/** Absent settings have their defaults. */
export type RateSettingsInput = Partial<RateSettings>

export interface RateLimit {
  readonly key: string
  /** Answers "go", "no", or a place in line. "No" is an answer, not an error. */
  decide(options?: DecideOptions): Promise<RateDecision>
  /** Like `decide`, for a caller that can wait: it waits in this process, for as long as you like, at no cost. */
  wait(options?: WaitOptions): Promise<Waited>
  verify(ticket: string, options?: CallOptions): Promise<TicketState>
  /** Leaves the line. Do not use the ticket after this, whatever the answer is. */
  giveUp(ticket: string, options?: CallOptions): Promise<GivenUp>
  state(options?: CallOptions): Promise<RateState>
  configuration(options?: CallOptions): Promise<RateConfiguration>
  /** Replaces all of the key's own settings. */
  configure(settings: RateSettingsInput, options?: MatchOptions): Promise<RateConfiguration>
  /** Removes the key's own settings; returns those that apply then: those of a prefix, or the defaults. */
  unconfigure(options?: MatchOptions): Promise<RateConfiguration>
}

export interface RatePatternVerbs {
  /** The limits of prefixes. */
  ratePatterns(options?: CallOptions): Promise<RatePatterns>
  /** Replaces them all. */
  configureRatePatterns(
    patterns: readonly RatePattern<RateSettingsInput>[],
    options?: MatchOptions,
  ): Promise<RatePatterns>
}

export function rateOf(send: Send, key: string): RateLimit {
  const requests = rateRequests(send, key)
  const limit: RateLimit = {
    key,
    async decide(options = {}) {
      const { repeatLost = true, signal, ...parameters } = options
      return decisionOf((await requests.decide(parameters, { repeatLost, signal })).body)
    },
    async wait(options = {}) {
      return wait(limit, options)
    },
    async verify(ticket, options) {
      return ticketStateOf((await requests.verify(ticket, options)).body)
    },
    async giveUp(ticket, options) {
      return givenUpOf((await requests.giveUp(ticket, options)).body)
    },
    async state(options) {
      return rateStateOf((await requests.state(options)).body)
    },
    async configuration(options) {
      return rateConfigurationOf(await requests.configuration(options))
    },
    configure: async (settings, options) =>
      rateConfigurationOf(await requests.configure(snakeCased(settings), options)),
    unconfigure: async (options) => rateConfigurationOf(await requests.unconfigure(options)),
  }
  return limit
}

export function ratePatternsOf(send: Send): RatePatternVerbs {
  const { patterns, configurePatterns } = patternRequests(send)
  return {
    ratePatterns: async (options) => patternsOf(await patterns(options)),
    async configureRatePatterns(inputs, options) {
      return patternsOf(await configurePatterns(patternBodies(inputs), options))
    },
  }
}
