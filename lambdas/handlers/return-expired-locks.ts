import { backgroundHandler } from '../background/background-handler.ts'
import { createSweeper, deploymentIn } from '../background/sweep/sweeper.ts'
import { wakerIn } from '../background/wake/waker.ts'
import { systemClock } from '../foundation/system.ts'
import { logOf, numberIn } from '../runtime/environment.ts'
import { createServices } from '../runtime/services.ts'
import { variables } from '../runtime/variables.ts'

/** By default a run sweeps once: the schedule starts one each minute. */
const everySeconds = numberIn(process.env, variables.sweepEverySeconds) ?? 60
const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = backgroundHandler(
  'ReturnExpiredLocks',
  log,
  createSweeper(queues, everySeconds, deploymentIn(process.env), systemClock, wakerIn(process.env)),
)
