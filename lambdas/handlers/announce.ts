import { announceHandler } from '../background/announcements/announce-handler.ts'
import { logOf, required } from '../runtime/environment.ts'
import { eventBridge } from '../runtime/event-bridge.ts'
import { variables } from '../runtime/variables.ts'

const log = logOf(process.env)

export const handler = announceHandler(
  eventBridge(),
  required(process.env, variables.eventBus),
  log,
)
