import { announceHandler } from '../background/announce.ts'
import { logOf, required } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'
import { eventBridge } from '../runtime/put-events.ts'

const log = logOf(process.env)

export const handler = announceHandler(
  eventBridge(),
  required(process.env, variables.eventBus),
  log,
)
