import type { Clock } from '../foundation/dynamo.ts'
import { type Environment, required } from '../runtime/environment.ts'
import type { EventsPort } from '../runtime/put-events.ts'
import { continuation } from './event.ts'
import { variables } from './settings.ts'

/** The run's time is nearly over, so we try only once more if EventBridge throttles the first call. */
const ATTEMPTS_MAX = 2
const PAUSE_MS = 100

/** Puts `Run Continued` on the bus. EventBridge's client is loaded by the few runs that need it. */
export function callNextOn(
  environment: Environment,
  clock: Clock,
  open: () => Promise<EventsPort> = openEventBridge,
): (queue: string) => Promise<void> {
  return async (queue) => {
    const entry = continuation(
      queue,
      required(environment, variables.name),
      required(environment, variables.bus),
      clock.nowMs(),
    )
    const port = await open()
    for (let attempt = 1; ; attempt += 1) {
      const problem = await port.putEvents([entry]).then(
        ([result]) => result?.ErrorCode,
        (error: unknown) => error,
      )
      if (problem === undefined) return
      if (attempt === ATTEMPTS_MAX) {
        throw new Error(`Cannot put ${entry.DetailType} on the bus ${entry.EventBusName}`, {
          cause: problem,
        })
      }
      await clock.sleep(PAUSE_MS)
    }
  }
}

const openEventBridge = async (): Promise<EventsPort> =>
  (await import('../runtime/event-bridge.ts')).eventBridge()
