import { systemClock } from '../../shared/system.ts'
import { wakerIn } from '../background/call-wake.ts'
import { createSweeper, deploymentIn } from '../background/sweep.ts'
import { backgroundHandler, logOf, numberIn } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'
import { createServices } from '../runtime/services.ts'

/** By default a run sweeps once: the schedule starts one each minute. */
const everySeconds = numberIn(process.env, variables.sweepEverySeconds) ?? 60
const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = backgroundHandler(
  'ReturnExpiredLocks',
  log,
  createSweeper(queues, everySeconds, deploymentIn(process.env), systemClock, wakerIn(process.env)),
)
