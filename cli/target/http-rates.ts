// Rate limits over HTTP, by the client's requests; `--json` prints their answers as they come. A turn is waited for
// here: after each sleep the service says whether it has come, because two clocks differ. Ctrl-C gives the place up.

import type { VerifyTicketAnswer } from '../../client/api-types.ts'
import { type DecideRequest, patternRequests, rateRequests } from '../../client/rate.ts'
import { delay } from '../../client/transport.ts'
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

/** A timer may be early, or this machine's clock faster than the service's; but not this often in a row. */
const SLEEPS_MAX = 20

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
  const startedAtMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - startedAtMs)
  for (;;) {
    const answer = await requests.decide({ ...request, maxWaitMs: 0 }, { repeatLost: false })
    const { body } = answer
    if (body.allowed || body.ticket === undefined) return answer
    const { ticket, retry_after_ms: leftMs } = body
    // Each round is nearer to the end by the time that it slept.
    if (waitedMs() + leftMs > maxWaitMs) return answer
    const { state, ...turn } = await atItsTurn(requests, ticket, leftMs, interrupt)
    if (state === 'ready') {
      const went = { allowed: true, ticket, ...turn, waited_ms: waitedMs() } as const
      return { body: went, text: JSON.stringify(went) }
    }
    if (state === 'waiting') return answer
    // It woke too late: its place was kept for its window only, so it asks for another.
  }
}

async function atItsTurn(
  requests: Requests,
  ticket: string,
  firstMs: number,
  interrupt: AbortSignal,
): Promise<VerifyTicketAnswer> {
  let leftMs = firstMs
  for (let sleep = 1; ; sleep += 1) {
    await delay(leftMs, interrupt)
    if (interrupt.aborted) throw await leaving(requests, ticket)
    const { body } = await requests.verify(ticket)
    if (body.state !== 'waiting' || sleep === SLEEPS_MAX) return body
    leftMs = body.retry_after_ms ?? 0
  }
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
