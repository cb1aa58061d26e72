import type { WakeEvent } from '../background/call-wake.ts'
import { createWake, wakeRun } from '../background/wake.ts'
import { backgroundHandler, logOf } from '../runtime/log.ts'

const log = logOf(process.env)
const queues = createWake(process.env, log)

export const handler = backgroundHandler('Wake', log, (event: WakeEvent | undefined, run) =>
  wakeRun(queues, event, run),
)
