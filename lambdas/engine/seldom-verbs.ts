import type { Engine } from './operations/attempts/engine.ts'
import { configuration, configure, unconfigure } from './operations/configuring/configure.ts'
import {
  configureQueuePatterns,
  deployQueuePatterns,
  queuePatterns,
} from './operations/configuring/configure-patterns.ts'
import { listScheduled } from './operations/later/list-scheduled.ts'
import { browse } from './operations/looking/browse.ts'
import { inspect } from './operations/looking/inspect.ts'
import { list } from './operations/looking/list.ts'
import { moveItems } from './operations/moving/move-items.ts'
import { redrive } from './operations/moving/redrive.ts'
import { apply } from './operations/pushing/apply.ts'
import { transact } from './operations/pushing/transact.ts'
import { pushTransactItem } from './operations/pushing/transact-item.ts'
import {
  deleteSchedule,
  pauseSchedule,
  putSchedule,
  resumeSchedule,
} from './operations/scheduling/change-schedule.ts'
import { deploySchedules } from './operations/scheduling/deploy-schedules.ts'
import { schedule, schedules } from './operations/scheduling/read-schedule.ts'
import { runSchedule } from './operations/scheduling/run-schedule.ts'
import { cancel } from './operations/settling/cancel.ts'
import { purge } from './operations/settling/purge.ts'
import { announceWaiting } from './operations/sweeping/announce-waiting.ts'
import { startTimers } from './operations/sweeping/start-timers.ts'
import { returnExpiredLocks } from './operations/sweeping/sweep.ts'
import { wake } from './operations/sweeping/wake.ts'
import type { SeldomVerbs } from './queues.ts'

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
