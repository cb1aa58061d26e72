// What commands talk to: queues and rate limits in one shape, whether they are asked over HTTP or in the table itself.

import type {
  ConfigureRateBody,
  DecideRateAnswer,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  VerifyTicketAnswer,
} from '../../client/api-types.ts'
import type { ConfigurationChange } from '../../client/index.ts'
import type { DecideRequest, DenialBody } from '../../client/rate.ts'
import type { Tabled } from '../../client/tabled-calls.ts'
import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { Configuration } from '../../engine/core/settings.ts'
import type {
  BrowsePage,
  BrowseRequest,
  Pushed,
  PushRequest,
  QueueState,
  Queues,
} from '../../engine/queues.ts'
import { clockTime } from '../../local/terminal/terminal.ts'
import { present } from '../../shared/wire.ts'
import { exitCodes, Failure, wrongUsage } from '../failure.ts'

/**
 * What commands talk to: the engine's own verbs, over HTTP or directly on the table. Items are JSON text both
 * ways, so that draining and importing an item again leaves it the same, byte for byte.
 */
export type Target = Pick<
  Queues,
  'pop' | Exclude<Tabled, 'inspect' | 'configuration' | 'unconfigure'>
> & {
  /** `respondAsync`: pushes into the service's inbox, or into the queue if the service has no inbox. */
  push(
    queue: string,
    request: PushRequest & { readonly respondAsync?: boolean },
  ): Promise<PushedOrAccepted>
  configuration(queue: string): Promise<Configured>
  /** With a tag: only if the configuration still has it. */
  configure(
    queue: string,
    change: ConfigurationChange,
    ifMatch: string | undefined,
  ): Promise<Configured>
  /** Takes the queue's own settings away; answers what applies then. */
  unconfigure(queue: string, ifMatch: string | undefined): Promise<Configured>
  inspect(queue: string, request?: { readonly oldest?: boolean }): Promise<State>
  /** All queues that begin with `prefix`, in order. A queue has no count if its record could not be read just now. */
  queues(request: {
    readonly prefix?: string | undefined
    readonly detail?: boolean | undefined
  }): AsyncIterable<Listed>
  /** For messages: the address or the table. */
  readonly name: string
  /** How it was named on the command line, for a line to copy: `` or ` --table t --bucket b`. */
  readonly asTyped: string
  close(): void
}

/** With the id of the message, if the push went to the inbox. */
export type PushedOrAccepted = Pushed & { readonly messageId?: string }

/** Settings that apply, and the tag of their revision without its quotes. */
export type Configured = { readonly settings: Configuration; readonly etag: string }

export type Listed = {
  readonly queue: string
  readonly count?: number
  /** With `detail`. */
  readonly scheduledCount?: number
}

export type State = Omit<QueueState, 'configuration' | 'etag'>

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

/** Page after page, each with the cursor behind it, until `limit` items are there. */
export async function* pagesOf(
  target: Target,
  queue: string,
  { limit: most = Number.POSITIVE_INFINITY, from, ...request }: BrowseRequest,
): AsyncGenerator<BrowsePage> {
  let left = most
  let cursor = request.cursor
  while (left > 0) {
    const limit = Math.min(ITEMS_PER_POP_MAX, left)
    // The pages behind the first begin where that ended.
    const next = present({ ...request, limit, cursor, ...(cursor === undefined && { from }) })
    const page: BrowsePage = await target.browse(queue, next)
    yield page
    left -= page.items.length
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

/** Whatever a file of patterns holds: the service judges the rest of it. */
export function objectFrom(pattern: unknown): Readonly<Record<string, unknown>> {
  if (typeof pattern === 'object' && pattern !== null && !Array.isArray(pattern)) {
    return pattern as Record<string, unknown>
  }
  throw wrongUsage(`A pattern is an object with a prefix, not ${JSON.stringify(pattern)}`)
}

/** Somebody else's lock, or a delay: what a pop meets on a queue that is worked exclusively. */
export const queueLocked = (command: string, queue: string, expiresAtMs: number): Failure =>
  new Failure(
    exitCodes.refused,
    `Cannot ${command} ${queue} because it is locked, or waits for items that come again, until ` +
      `${clockTime(expiresAtMs)}; wait, or take what is free with --competing`,
    { code: 'QUEUE_LOCKED' },
  )
