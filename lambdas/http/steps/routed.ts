import { checkQueueId } from '../../core/keys.ts'
import type { Target } from '../exchange.ts'
import { noSuchRoute } from '../no-such-route.ts'
import type { Step } from './step.ts'

/** Finds the endpoint, and the queue. */
export function routed(targets: ReadonlyMap<string, Target>): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      if (event.version !== '2.0') throw new Error(`Unexpected payload format: ${WANTED_FORMAT}`)
      const target = targets.get(event.routeKey ?? '')
      if (target === undefined) throw noSuchRoute(event)
      exchange.target = target
      if (!target.route.path.includes('{id}')) return
      // The gateway has decoded it; once more would make another id of `%2541`.
      const id = event.pathParameters?.id
      checkQueueId(id)
      exchange.queue = id as string
    },
  }
}

const WANTED_FORMAT = 'the integration must send payload format version 2.0'
