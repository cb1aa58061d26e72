import { checkQueueId, ID_RULE, isQueueId } from '../../foundation/queue-id.ts'
import type { Target } from '../exchange.ts'
import { noSuchRoute } from '../no-such-route.ts'
import { RequestError } from '../request-error.ts'
import type { Step } from './step.ts'

/** Finds the endpoint, and the queue, or the rate limit and the ticket. */
export function routed(targets: ReadonlyMap<string, Target>): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      if (event.version !== '2.0') throw new Error(`Unexpected payload format: ${WANTED_FORMAT}`)
      const target = targets.get(event.routeKey ?? '')
      if (target === undefined) throw noSuchRoute(event)
      exchange.target = target
      const { path } = target.route
      // The gateway has decoded them; decoding again would turn `%2541` into another id.
      const { id, key, ticket, name } = event.pathParameters ?? {}
      if (path.includes('{id}')) {
        checkQueueId(id)
        exchange.queue = id as string
      }
      if (path.includes('{key}')) exchange.rateKey = checkedKey(key)
      if (path.includes('{ticket}')) exchange.ticket = ticket ?? ''
      if (path.includes('{name}')) exchange.schedule = name ?? ''
    },
  }
}

/** A key is spelled like a queue id. We check it here, because other functions do not load the limiter. */
function checkedKey(key: string | undefined): string {
  if (isQueueId(key)) return key
  throw new RequestError('INVALID_PARAMETER', `A rate limit’s key must be ${ID_RULE}`, {
    field: 'key',
  })
}

const WANTED_FORMAT = 'the integration must send payload format version 2.0'
