/**
 * What the commands of rate limits talk to: the API's own answers, from the API or made on the table
 * itself. What `--json` prints is an answer's text.
 */
export type Rates = {
  /** An answer is go, no, or a ticket; all else that is wrong is thrown. */
  decide(key: string, request: DecideRequest): Promise<Answer<DecisionBody>>
  state(key: string): Promise<Answer<StateBody>>
  configuration(key: string): Promise<Answer<ConfigurationBody>>
  /** What is absent is as by default. */
  configure(key: string, settings: SettingsBody): Promise<Answer<ConfigurationBody>>
  unconfigure(key: string): Promise<Answer<ConfigurationBody>>
  patterns(): Promise<Answer<PatternsBody>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<PatternsBody>>
  verify(key: string, ticket: string): Promise<Answer<TicketBody>>
  giveUp(key: string, ticket: string): Promise<Answer<GiveUpBody>>
  /** How it was named on the command line, for a line to copy. */
  readonly asTyped: string
  close(): void
}

export type Answer<Body> = {
  readonly body: Body
  /** One line. */
  readonly text: string
  readonly etag?: string | undefined
}

/** Named as the API's parameters. */
export type DecideRequest = {
  readonly canWait?: boolean | undefined
  readonly maxWaitMs?: number | undefined
  readonly cost?: number | undefined
  readonly caller?: string | undefined
  readonly maxRequests?: number | undefined
  readonly maxRequestsInQueue?: number | undefined
  readonly windowMillis?: number | undefined
}

export type DecisionBody =
  /** No `remaining` after a wait by ticket: a ticket does not say what is left. */
  | { readonly allowed: true; readonly remaining?: number; readonly waited_ms?: number }
  | {
      readonly allowed: false
      readonly ticket: string
      readonly not_before: number
      readonly position: number
      readonly retry_after_ms: number
    }
  | { readonly allowed: false; readonly ticket?: undefined; readonly retry_after_ms: number }

export type SettingsBody = {
  readonly max_requests?: number
  readonly max_requests_in_queue?: number
  readonly window_millis?: number
  readonly algorithm?: 'window' | 'smooth'
  readonly burst?: number
  readonly shards?: number
  readonly allow_overrides?: boolean
}

/** All of the settings that apply, whether they are the key's own or not. */
export type ConfigurationBody = SettingsBody

/** The tag of a configuration that is that of a prefix, or the default. */
export const NOT_ITS_OWN = '"0"'

export type StateBody = {
  readonly from: 'key' | 'pattern' | 'default'
  readonly configuration: ConfigurationBody
  readonly shards: readonly ShardBody[]
}

export type ShardBody = {
  readonly shard: number
  readonly limit: number
  readonly remaining: number
  readonly waiting: number
  readonly window: { readonly start: number; readonly end: number }
  readonly last_turn: number | null
}

export type PatternBody = SettingsBody & { readonly prefix: string }
export type PatternsBody = { readonly patterns: readonly PatternBody[] }

export type TicketBody = {
  readonly state: 'waiting' | 'ready' | 'over'
  readonly not_before: number
  readonly good_until: number
}

export type GiveUpBody =
  | { readonly given_up: true }
  | { readonly given_up: false; readonly reason: 'others_wait_behind' | 'too_late' }
