// The verbs that neither a push nor a pop needs. One file names them all, because each further file would add half a
// millisecond to every function's cold start; `queues.ts` loads it by the first call of one of them.

export { deploySchedules } from './upkeep/deploy-schedules.ts'
export { returnExpiredLocks } from './upkeep/sweep.ts'
export { wake } from './upkeep/wake.ts'
export { announceWaiting, startTimers } from './upkeep/walk-queues.ts'
export { apply } from './verbs/apply-messages.ts'
export { cancel } from './verbs/cancel.ts'
export {
  deleteSchedule,
  pauseSchedule,
  putSchedule,
  resumeSchedule,
  runSchedule,
} from './verbs/change-schedules.ts'
export {
  configuration,
  configure,
  configurePatterns,
  deployPatterns,
  queuePatterns as patterns,
  unconfigure,
} from './verbs/configure.ts'
export { browse, listScheduled as scheduled } from './verbs/list-items.ts'
export { inspect, list } from './verbs/list-queues.ts'
export { moveItems as move } from './verbs/move.ts'
export { purge } from './verbs/purge.ts'
export { schedule, schedules } from './verbs/push-due.ts'
export { redrive } from './verbs/redrive.ts'
export { pushTransactItem, transact } from './verbs/transact.ts'
