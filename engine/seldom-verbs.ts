// The files of the verbs that neither a push nor a pop needs. One file names them all, because each further file would
// add half a millisecond to every function's cold start; `queues.ts` loads it by the first call of one of them.

export * from './upkeep/deploy-schedules.ts'
export * from './upkeep/sweep.ts'
export * from './upkeep/wake.ts'
export * from './upkeep/walk-queues.ts'
export * from './verbs/apply-messages.ts'
export * from './verbs/cancel.ts'
export * from './verbs/change-schedules.ts'
export * from './verbs/configure.ts'
export * from './verbs/list-items.ts'
export * from './verbs/list-queues.ts'
export * from './verbs/move.ts'
export * from './verbs/purge.ts'
export * from './verbs/push-due.ts'
export * from './verbs/redrive.ts'
export * from './verbs/transact.ts'
