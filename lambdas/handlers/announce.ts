import { announceHandler } from '../background/announcements/announce-handler.ts'
import { logOf, required } from '../runtime/environment.ts'
import { eventBridge } from '../runtime/event-bridge.ts'

const log = logOf(process.env)

export const handler = announceHandler(
  eventBridge(),
  required(process.env, 'PUSHPOP_EVENT_BUS'),
  log,
)
