import { connect } from '../../client/connect.ts'
import { isOutcomeUnknown, isPushPopError } from '../../client/index.ts'
import { patternRequests, rateRequests } from '../../client/rate.ts'
import type { Send } from '../../client/transport.ts'
import { interrupted } from '../failure.ts'
import { httpAuth } from './http-auth.ts'
import type { Place } from './open-target.ts'
import type { Rates } from './rates.ts'
import type { AwsSettings } from './store-target.ts'
import { whereNobodyAnswers } from './unreachable.ts'
import { waitForTurn } from './wait-for-turn.ts'

/** The client's requests; `--json` prints their answers as they come. */
export function openHttpRates(
  place: Extract<Place, { kind: 'http' }>,
  aws: AwsSettings,
  token: string | undefined,
  interrupt: AbortSignal,
): Rates {
  const { url, asTyped } = place
  const connected = connect({ url, auth: httpAuth(place, aws, token) })
  const send: Send = async (call) => {
    try {
      return await connected.send({ ...call, signal: interrupt })
    } catch (error) {
      if (isPushPopError(error, 'ABORTED')) throw stopped(isOutcomeUnknown(error))
      throw whereNobodyAnswers(url, error)
    }
  }
  const limit = (key: string) => rateRequests(send, key)
  const { patterns, configurePatterns } = patternRequests(send)
  return {
    decide(key, request) {
      // Asking again after a lost answer would take another place, so the script gets the error.
      if (!request.canWait) return limit(key).decide(request, { repeatLost: false })
      // Ctrl-C must not interrupt this: that is the moment to give the place up.
      const { giveUp } = rateRequests(connected.send, key)
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
    asTyped,
    // Connections that are kept alive end with the process.
    close() {},
  }
}

const stopped = (isDoubtful: boolean) =>
  interrupted(isDoubtful ? 'Stopped; it may have been done anyway.' : 'Stopped.')
