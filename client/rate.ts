// The rate limiter over HTTP: its routes, its answers with the engine's names (docs/rate-limits.md), and how a caller
// waits for its turn in its own process, so that no call waits in the service.
//
//   asked ──▶ allowed, or denied
//     └──promised──▶ sleeping until its turn ──ticket verified──▶ ready: go · early: sleep on · too late: ask again
//                           └──aborted──▶ its place is given up in the background

import { ID_RULE } from '../shared/bounds.ts'
import type { Verb } from '../shared/verbs.ts'
import { present, snakeCased } from '../shared/wire.ts'
import type {
  ConfigureRateAnswer,
  ConfigureRatePatternsAnswer,
  DecideRateAnswer,
  DecideRateParameters,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  UnconfigureRateAnswer,
  VerifyTicketAnswer,
} from './api-types.ts'
import { PushPopError } from './errors.ts'
import type { CallOptions, MatchOptions } from './queue.ts'
import { isSegment, patternBodies, shown } from './queue-calls.ts'
import { type Answered, type Call, delay, matchOf, type Send } from './transport.ts'
import { ms, type View, viewOf } from './views.ts'

/** By the service's clock. */
export type RateWindow = { readonly startMs: number; readonly endMs: number }

/** Go. */
export type Allowed = {
  readonly kind: 'allowed'
  /** Requests that may still go in the current window. */
  readonly remaining: number
  readonly window: RateWindow
  /** How long the call waited for its turn. */
  readonly waitedMs: number
}

/** The window is full; or, for a caller that can wait, the line is full. */
export type Denied = { readonly kind: 'denied'; readonly retryAfterMs: number }

/** A place in line: go at its turn, once. */
export type Promised = {
  readonly kind: 'promised'
  readonly ticket: string
  /** By the service's clock; it never moves. */
  readonly turn: { readonly notBeforeMs: number }
  /** From the answer to the turn. */
  readonly waitMs: number
  /** 1 means that nobody waits in front of it. */
  readonly position: number
}

export type RateDecision = Allowed | Denied | Promised

export type TicketState = {
  /** By the service's clock. */
  readonly turn: { readonly notBeforeMs: number; readonly goodUntilMs: number }
} & (
  | { readonly kind: 'waiting'; readonly retryAfterMs: number }
  /** Go, once. */
  | { readonly kind: 'ready' }
  /** Its time is over: if you did not go, ask again. */
  | { readonly kind: 'over' }
)

/** In every case, do not use the ticket any more. */
export type GivenUp =
  /** Another caller may have the place now. */
  | { readonly kind: 'given-up' }
  /** Others have been promised turns behind it, which do not move, so the place stays empty. */
  | { readonly kind: 'kept' }
  /** The turn has come. */
  | { readonly kind: 'too-late' }

export type RateSettings = View<RateConfigurationAnswer>

/** The settings that apply, whether they are the key's own or not. */
export type RateConfiguration = {
  readonly settings: RateSettings
  /** For `ifMatch`; `"0"` if the key has no settings of its own. */
  readonly etag?: string
}

export type RatePattern<S = RateSettings> = { readonly prefix: string; readonly settings: S }

export type RatePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly RatePattern[]
  /** For `ifMatch`. */
  readonly etag?: string
}

export type RateState = {
  readonly key: string
  readonly from: 'key' | 'pattern' | 'default'
  readonly settings: RateSettings
  readonly shards: readonly {
    readonly shard: number
    /** Its share of the limit. */
    readonly limit: number
    readonly remaining: number
    /** Places promised in later windows. */
    readonly waiting: number
    readonly window: RateWindow
    readonly lastTurnMs?: number
  }[]
}

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

export type WaitOptions = Omit<DecideOptions, 'canWait' | 'maxWaitMs'> & {
  /** If the turn is later than this, the answer comes at once, with a ticket. Default 60,000. */
  readonly maxWaitMs?: number | undefined
}

export type Waited = { readonly kind: 'allowed' } | Denied | Promised

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
      return wait(limit, requests, options)
    },
    async verify(ticket, options) {
      const { body } = await requests.verify(ticket, options)
      const { state: kind, retry_after_ms: retryAfterMs = 0, ...times } = body
      const turn = viewOf(times)
      return kind === 'waiting' ? { kind, turn, retryAfterMs } : { kind, turn }
    },
    async giveUp(ticket, options) {
      const { body } = await requests.giveUp(ticket, options)
      if (body.given_up) return { kind: 'given-up' }
      return { kind: body.reason === 'too_late' ? 'too-late' : 'kept' }
    },
    async state(options) {
      const { configuration, ...state } = (await requests.state(options)).body
      return { ...viewOf(state), settings: viewOf(configuration) }
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

/** As long as the client retries one call. */
const WAIT_MS = 60_000
/** The longest timer: a longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

async function wait(
  { giveUp }: Pick<RateLimit, 'giveUp'>,
  requests: Pick<RateRequests, 'decide' | 'verify'>,
  { maxWaitMs = WAIT_MS, repeatLost = true, signal, ...query }: WaitOptions,
): Promise<Waited> {
  const { body, went } = await waitInLine(
    requests,
    { ...query, maxWaitMs },
    {
      repeatLost,
      signal,
      async leave(ticket, signal) {
        // In the background: an abort does not wait for that, and ignores a failure.
        giveUp(ticket).catch(() => {})
        const message = 'The wait was given up because its signal was aborted'
        return new PushPopError('ABORTED', message, { outcome: 'unknown', cause: signal.reason })
      },
    },
  )
  const decision = decisionOf(body)
  return went !== undefined || decision.kind === 'allowed' ? { kind: 'allowed' } : decision
}

type InLine = {
  readonly repeatLost: boolean
  readonly signal: AbortSignal | undefined
  /** What to throw when the signal has come. */
  leave(ticket: string, signal: AbortSignal): Promise<Error>
}

/** So long we wait if the service says that the turn is now, and yet that it has not come. */
const AGAIN_MS = 20

/**
 * Takes a place in line, sleeps until its turn, and has the ticket verified before it goes: a timer may be early,
 * and a machine that slept may be late. If it is too late, it asks again, because the place was kept only for its
 * window. No call waits in the service meanwhile (`maxWaitMs=0`), so waiting costs a second request. Returns the last
 * decision; and `went` if its turn has come.
 */
export async function waitInLine(
  { decide, verify }: Pick<RateRequests, 'decide' | 'verify'>,
  { maxWaitMs, ...query }: DecideRequest & { readonly maxWaitMs: number },
  { repeatLost, signal, leave }: InLine,
) {
  const ask = () => decide({ ...query, canWait: true, maxWaitMs: 0 }, { repeatLost, signal })
  const startedAtMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - startedAtMs)
  let { body, text } = await ask()
  while (!body.allowed && body.ticket !== undefined) {
    const { ticket, retry_after_ms: leftMs } = body
    if (waitedMs() + leftMs > maxWaitMs) break
    await delay(Math.min(leftMs, TIMER_MS_MAX), signal)
    if (signal?.aborted) throw await leave(ticket, signal)
    const { state, ...turn } = await verify(ticket, { signal }).then(
      ({ body }) => body,
      async (error) => {
        throw signal?.aborted ? await leave(ticket, signal) : error
      },
    )
    if (state === 'ready') {
      return {
        body,
        text,
        went: { allowed: true, ticket, ...turn, waited_ms: waitedMs() } as const,
      }
    }
    if (state === 'waiting') {
      body = { ...body, retry_after_ms: turn.retry_after_ms || AGAIN_MS }
    } else ({ body, text } = await ask())
  }
  return { body, text, went: undefined }
}

/** What only a 429 of the limiter says, not the gateway's own. */
export type DenialBody = {
  readonly allowed: false
  readonly ticket?: undefined
  readonly retry_after_ms: number
}

/** Named as the API's parameters. */
export type DecideRequest = {
  readonly [Name in keyof DecideRateParameters]: DecideRateParameters[Name] | undefined
}

/** The longest time for which a call that can wait may do so, as the service has it. */
const HELD_MS = 10_000

type RateRequests = ReturnType<typeof rateRequests>

/** Their answers have the API's own names. The command line prints these. */
export function rateRequests(send: Send, key: string) {
  const at = { key: checkedKey(key) }
  const get =
    <Body>(verb: Verb) =>
    ({ signal }: CallOptions = {}) =>
      ask<Body>(send, { verb, at, signal })
  const ofTicket =
    <Body>(verb: Verb) =>
    async (ticket: string, { signal }: CallOptions = {}) =>
      ask<Body>(send, { verb, at: { ...at, ticket: checkedTicket(ticket) }, signal })
  return {
    decide: (
      query: DecideRequest,
      { repeatLost, ...options }: CallOptions & { readonly repeatLost: boolean },
    ) =>
      ask<DecideRateAnswer | DenialBody>(send, {
        verb: 'decideRate',
        at,
        query,
        heldMs: query.canWait ? (query.maxWaitMs ?? HELD_MS) : 0,
        denialIsAnswer: true,
        isRepeatable: repeatLost,
        signal: options.signal,
      }),
    state: get<RateStateAnswer>('rateState'),
    verify: ofTicket<VerifyTicketAnswer>('verifyTicket'),
    giveUp: ofTicket<GiveUpTicketAnswer>('giveUpTicket'),
    configuration: get<RateConfigurationAnswer>('rateConfiguration'),
    /** Its body as it stands: the service judges it. */
    configure: (body: object, options: MatchOptions = {}) =>
      ask<ConfigureRateAnswer>(send, {
        verb: 'configureRate',
        at,
        body: JSON.stringify(body),
        ...matchOf(options),
      }),
    unconfigure: (options: MatchOptions = {}) =>
      ask<UnconfigureRateAnswer>(send, { verb: 'unconfigureRate', at, ...matchOf(options) }),
  }
}

export const patternRequests = (send: Send) => ({
  patterns: ({ signal }: CallOptions = {}) =>
    ask<RatePatternsAnswer>(send, { verb: 'ratePatterns', signal }),
  configurePatterns: (patterns: readonly unknown[], options: MatchOptions = {}) =>
    ask<ConfigureRatePatternsAnswer>(send, {
      verb: 'configureRatePatterns',
      body: JSON.stringify({ patterns }),
      ...matchOf(options),
    }),
})

const ask = <Body>(send: Send, call: Call) => send(call) as Promise<Answered<Body>>

/** The service checks keys and tickets. We refuse only those that would not reach it. */
function checkedKey(key: string): string {
  if (isSegment(key)) return key
  throw new PushPopError(
    'INVALID_PARAMETER',
    `A rate limit's key must be ${ID_RULE}, and this one is ${shown(key)}`,
    { field: 'key' },
  )
}

function checkedTicket(ticket: string): string {
  if (isSegment(ticket)) return ticket
  throw new PushPopError(
    'TICKET_NOT_FOUND',
    `A ticket of a rate limit is text, and this one is ${shown(ticket)}`,
  )
}

function decisionOf(body: DecideRateAnswer | DenialBody): RateDecision {
  if (body.allowed) {
    const { remaining, window, waited_ms: waitedMs } = body
    return { kind: 'allowed', remaining, window: viewOf(window), waitedMs }
  }
  if (body.ticket === undefined) return { kind: 'denied', retryAfterMs: body.retry_after_ms }
  const { ticket, not_before, retry_after_ms: waitMs, position } = body
  return { kind: 'promised', ticket, turn: { notBeforeMs: ms(not_before) }, waitMs, position }
}

const rateConfigurationOf = ({
  body,
  etag,
}: Answered<RateConfigurationAnswer>): RateConfiguration =>
  present({ settings: viewOf(body), etag })

function patternsOf({ body, etag }: Answered<RatePatternsAnswer>): RatePatterns {
  const patterns = body.patterns.map(({ prefix, ...settings }) => {
    return { prefix, settings: viewOf(settings) }
  })
  return present({ patterns, etag })
}
