import { logOf, numberIn } from '../setup/environment.ts'
import { createServices } from '../setup/services.ts'
import { createSweeper } from '../upkeep/sweeper.ts'
import { upkeepHandler } from '../upkeep/upkeep-handler.ts'

/** Absent, a run sweeps once: the schedule comes each minute. */
const everySeconds = numberIn(process.env, 'PUSHPOP_SWEEP_EVERY_SECONDS') ?? 60
const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = upkeepHandler('ReturnExpiredLocks', log, createSweeper(queues, everySeconds))
