import { announceHandler } from '../events/announce-handler.ts'
import { eventBridge } from '../events/event-bridge.ts'
import { logOf, required } from '../setup/environment.ts'

const log = logOf(process.env)

export const handler = announceHandler(
  eventBridge(),
  required(process.env, 'PUSHPOP_EVENT_BUS'),
  log,
)
