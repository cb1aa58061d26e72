import type { Engine } from './driver/engine.ts'
import type { SeldomVerbs } from './queues.ts'
import { deploySchedules } from './upkeep/deploy-schedules.ts'
import { returnExpiredLocks } from './upkeep/sweep.ts'
import { wake } from './upkeep/wake.ts'
import { announceWaiting, startTimers } from './upkeep/walk-queues.ts'
import { apply } from './verbs/apply-messages.ts'
import { cancel } from './verbs/cancel.ts'
import {
  deleteSchedule,
  pauseSchedule,
  putSchedule,
  resumeSchedule,
  runSchedule,
} from './verbs/change-schedules.ts'
import {
  configuration,
  configure,
  configureQueuePatterns,
  deployQueuePatterns,
  queuePatterns,
  unconfigure,
} from './verbs/configure.ts'
import { browse, listScheduled } from './verbs/list-items.ts'
import { inspect, list } from './verbs/list-queues.ts'
import { moveItems } from './verbs/move.ts'
import { purge } from './verbs/purge.ts'
import { schedule, schedules } from './verbs/push-due.ts'
import { redrive } from './verbs/redrive.ts'
import { pushTransactItem, transact } from './verbs/transact.ts'

/**
 * The verbs that neither a push nor a pop needs. They share one file, because each further file would add half a
 * millisecond to every function's cold start.
 */
export const seldomVerbs = (engine: Engine): SeldomVerbs => ({
  apply: (queue, messages, request) => apply(engine, queue, messages, request),
  pushTransactItem: (queue, item) => pushTransactItem(engine, queue, item),
  transact: (queue, items, send) => transact(engine, queue, items, send),

  inspect: (queue, request) => inspect(engine, queue, request),
  browse: (queue, request) => browse(engine, queue, request),
  list: (request) => list(engine, request),
  scheduled: (queue, request) => listScheduled(engine, queue, request),

  cancel: (queue, ids) => cancel(engine, queue, ids),
  move: (queue, request) => moveItems(engine, queue, request),
  purge: (queue, request) => purge(engine, queue, request),
  redrive: (queue, request) => redrive(engine, queue, request),

  configuration: (queue) => configuration(engine, queue),
  configure: (queue, change, request) => configure(engine, queue, change, request),
  unconfigure: (queue, request) => unconfigure(engine, queue, request),
  patterns: () => queuePatterns(engine),
  configurePatterns: (patterns, request) => configureQueuePatterns(engine, patterns, request),
  deployPatterns: (patterns, hash) => deployQueuePatterns(engine, patterns, hash),

  schedule: (queue, name) => schedule(engine, queue, name),
  schedules: (queue) => schedules(engine, queue),
  putSchedule: (queue, name, input, request) => putSchedule(engine, queue, name, input, request),
  deleteSchedule: (queue, name, request) => deleteSchedule(engine, queue, name, request),
  runSchedule: (queue, name) => runSchedule(engine, queue, name),
  pauseSchedule: (queue, name) => pauseSchedule(engine, queue, name),
  resumeSchedule: (queue, name) => resumeSchedule(engine, queue, name),
  deploySchedules: (...given) => deploySchedules(engine, ...given),

  returnExpiredLocks: (request) => returnExpiredLocks(engine, request),
  wake: (request) => wake(engine, request),
  announceWaiting: (request) => announceWaiting(engine, request),
  startTimers: (request) => startTimers(engine, request),
})
