// Rate limits over HTTP, by the client's requests; `--json` prints their answers as they come. A turn is waited for
// here: after each sleep the service says whether it has come, because two clocks differ. Ctrl-C gives the place up.

import { type DecideRequest, patternRequests, rateRequests, waitInLine } from '../../client/rate.ts'
import { WAIT_MS_DEFAULT } from '../../rate/core/bounds.ts'
import { type Failure, interrupted } from '../failure.ts'
import { connectTo } from './http.ts'
import type { AwsSettings, HttpPlace } from './place.ts'
import type { Answer, DecisionBody, Rates } from './target.ts'

export function openHttpRates(
  place: HttpPlace,
  aws: AwsSettings,
  token: string | undefined,
  interrupt: AbortSignal,
): Rates {
  const { send, sendAnyway } = connectTo(place, aws, token, interrupt)
  const limit = (key: string) => rateRequests(send, key)
  const { patterns, configurePatterns } = patternRequests(send)
  return {
    decide(key, request) {
      // Asking again after a lost answer would take another place, so the script gets the error.
      if (!request.canWait) return limit(key).decide(request, { repeatLost: false })
      // Ctrl-C must not interrupt this: that is the moment to give the place up.
      const { giveUp } = rateRequests(sendAnyway, key)
      return waitForTurn({ ...limit(key), giveUp }, request, interrupt)
    },
    state: (key) => limit(key).state(),
    configuration: (key) => limit(key).configuration(),
    configure: (key, settings) => limit(key).configure(settings),
    unconfigure: (key) => limit(key).unconfigure(),
    patterns: () => patterns(),
    configurePatterns: (all, etag) => configurePatterns(all, { ifMatch: etag }),
    verify: (key, ticket) => limit(key).verify(ticket),
    giveUp: (key, ticket) => limit(key).giveUp(ticket),
    asTyped: place.asTyped,
    // Connections that are kept alive end with the process.
    close() {},
  }
}

type Requests = Pick<ReturnType<typeof rateRequests>, 'decide' | 'verify' | 'giveUp'>

/**
 * Waits here for a turn that comes within `maxWaitMs`, as the client does. The service would hold the call
 * for two seconds at most, unless it is set otherwise.
 */
export async function waitForTurn(
  requests: Requests,
  { maxWaitMs = WAIT_MS_DEFAULT, ...request }: DecideRequest,
  interrupt: AbortSignal,
): Promise<Answer<DecisionBody>> {
  const { body, text, went } = await waitInLine(
    requests,
    { ...request, maxWaitMs },
    {
      repeatLost: false,
      signal: interrupt,
      leave: (ticket) => leaving(requests, ticket),
    },
  )
  return went === undefined ? { body, text } : { body: went, text: JSON.stringify(went) }
}

/** Ctrl-C: gives the place to another, if the service can be reached; a second Ctrl-C does not wait for it. */
async function leaving(requests: Requests, ticket: string): Promise<Failure> {
  const isFree = await requests.giveUp(ticket).then(
    ({ body }) => body.given_up,
    // The service does not know that we left, so the place stays empty.
    () => false,
  )
  return interrupted(
    isFree
      ? 'Stopped; its place in line is free for another.'
      : 'Stopped; its place in line stays empty.',
  )
}
