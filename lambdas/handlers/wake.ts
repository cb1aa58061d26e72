import { backgroundHandler } from '../background/background-handler.ts'
import { createWake } from '../background/wake/create-wake.ts'
import { wakeRun } from '../background/wake/wake-run.ts'
import type { WakeEvent } from '../background/wake/waker.ts'
import { logOf } from '../runtime/environment.ts'

const log = logOf(process.env)
const queues = createWake(process.env, log)

export const handler = backgroundHandler('Wake', log, (event: WakeEvent | undefined, run) =>
  wakeRun(queues, event, run),
)
