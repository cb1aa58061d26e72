import type {
  ConfigureRateBody,
  DecideRateAnswer,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  VerifyTicketAnswer,
} from '../../client/api-types.ts'
import type { DecideRequest, DenialBody } from '../../client/rate.ts'

/**
 * What the commands for rate limits talk to. It gives the API's own answers, from the API or made directly on the
 * table. `--json` prints an answer's text.
 */
export type Rates = {
  /** An answer is go, no, or a ticket; for anything else it throws. */
  decide(key: string, request: DecideRequest): Promise<Answer<DecisionBody>>
  state(key: string): Promise<Answer<RateStateAnswer>>
  configuration(key: string): Promise<Answer<RateConfigurationAnswer>>
  /** Absent settings have their defaults. */
  configure(key: string, settings: ConfigureRateBody): Promise<Answer<RateConfigurationAnswer>>
  unconfigure(key: string): Promise<Answer<RateConfigurationAnswer>>
  patterns(): Promise<Answer<RatePatternsAnswer>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<RatePatternsAnswer>>
  verify(key: string, ticket: string): Promise<Answer<VerifyTicketAnswer>>
  giveUp(key: string, ticket: string): Promise<Answer<GiveUpTicketAnswer>>
  /** How it was named on the command line, for a line to copy. */
  readonly asTyped: string
  close(): void
}

export type Answer<Body> = {
  readonly body: Body
  /** The same on one line. */
  readonly text: string
  readonly etag?: string | undefined
}

export type DecisionBody = DecideRateAnswer | DenialBody | WaitedBody

/** After a wait by ticket: a ticket does not say what is left. */
type WaitedBody = {
  readonly allowed: true
  readonly remaining?: undefined
  readonly waited_ms: number
}

/** The tag of a configuration that comes from a prefix or the defaults. */
export const NOT_ITS_OWN = '"0"'
