import { batchingOf } from '../foundation/shared/linger/options.ts'
import { createEngine, type QueuesOptions } from './create-engine.ts'
import type { Engine } from './operations/attempts/engine.ts'
import { popOrWait } from './operations/popping/wait.ts'
import { pushVerbs } from './operations/pushing/linger.ts'
import { acknowledge, acknowledgeMany } from './operations/settling/acknowledge.ts'
import { extend } from './operations/settling/extend.ts'
import { deadLetter, release } from './operations/settling/settle.ts'
import { housekeep } from './operations/sweeping/housekeep.ts'
import type { SchedulingVerbs } from './scheduling-verbs.ts'
import type { Queues } from './verbs.ts'

export type * from './verbs.ts'
export type { QueuesOptions }

/** The engine on a table and bucket: used alike by the Lambdas, the tests and without HTTP. */
export function createQueues(options: QueuesOptions): Queues {
  const engine = createEngine(options)
  warnWithoutZstd()
  // Loaded by the first call that needs them: no push and no pop loads at its start what it does not do.
  const transacting = async () =>
    (await import('./operations/pushing/transacting.ts')).transactingVerbs(engine)
  const looking = async () => (await import('./operations/looking/verbs.ts')).lookingVerbs(engine)
  const configuring = async () =>
    (await import('./operations/configuring/verbs.ts')).configuringVerbs(engine)
  const applying = () => import('./operations/pushing/apply.ts')
  const purging = () => import('./operations/settling/purge.ts')
  const moving = async () => (await import('./operations/moving/verbs.ts')).movingVerbs(engine)
  const cancelling = () => import('./operations/settling/cancel.ts')
  const listing = () => import('./operations/later/list-scheduled.ts')
  const sweeping = async () =>
    (await import('./operations/sweeping/verbs.ts')).sweepingVerbs(engine)
  return {
    ...pushVerbs(engine, batchingOf(options.linger)),
    apply: async (queue, messages, request) =>
      (await applying()).apply(engine, queue, messages, request),
    pushTransactItem: async (queue, item) => (await transacting()).pushTransactItem(queue, item),
    transact: async (queue, items, send) => (await transacting()).transact(queue, items, send),
    pop: (queue, request) => popOrWait(engine, queue, request),
    acknowledge: (queue, request) => acknowledge(engine, queue, request),
    acknowledgeMany: (queue, lockIds) => acknowledgeMany(engine, queue, lockIds),
    extend: (queue, request) => extend(engine, queue, request),
    release: (queue, request) => release(engine, queue, request),
    deadLetter: (queue, request) => deadLetter(engine, queue, request),
    inspect: async (queue, request) => (await looking()).inspect(queue, request),
    scheduled: async (queue, request) => (await listing()).listScheduled(engine, queue, request),
    browse: async (queue, request) => (await looking()).browse(queue, request),
    configuration: async (queue) => (await configuring()).configuration(queue),
    configure: async (queue, change, request) =>
      (await configuring()).configure(queue, change, request),
    unconfigure: async (queue, request) => (await configuring()).unconfigure(queue, request),
    patterns: async () => (await configuring()).patterns(),
    configurePatterns: async (patterns, request) =>
      (await configuring()).configurePatterns(patterns, request),
    deployPatterns: async (patterns, hash) => (await configuring()).deployPatterns(patterns, hash),
    cancel: async (queue, ids) => (await cancelling()).cancel(engine, queue, ids),
    move: async (queue, request) => (await moving()).move(queue, request),
    ...lazySchedules(engine),
    purge: async (queue, request) => (await purging()).purge(engine, queue, request),
    redrive: async (queue, request) => (await moving()).redrive(queue, request),
    list: async (request) => (await looking()).list(request),
    housekeep: (queue, request) => housekeep(engine, queue, request),
    returnExpiredLocks: async (request) => (await sweeping()).returnExpiredLocks(request),
    wake: async (request) => (await sweeping()).wake(request),
    announceWaiting: async (request) => (await sweeping()).announceWaiting(request),
    startTimers: async (request) => (await sweeping()).startTimers(request),
  }
}

/** Loaded by the first call about a schedule: no function's start pays for it. */
function lazySchedules(engine: Engine): SchedulingVerbs {
  const verbs = async () =>
    (await import('./operations/scheduling/verbs.ts')).schedulingVerbs(engine)
  const deploying = () => import('./operations/scheduling/deploy-schedules.ts')
  return {
    schedule: async (...given) => (await verbs()).schedule(...given),
    schedules: async (...given) => (await verbs()).schedules(...given),
    putSchedule: async (...given) => (await verbs()).putSchedule(...given),
    deleteSchedule: async (...given) => (await verbs()).deleteSchedule(...given),
    runSchedule: async (...given) => (await verbs()).runSchedule(...given),
    pauseSchedule: async (...given) => (await verbs()).pauseSchedule(...given),
    resumeSchedule: async (...given) => (await verbs()).resumeSchedule(...given),
    deploySchedules: async (...given) => (await deploying()).deploySchedules(engine, ...given),
  }
}

/** Here, and not when a pop meets what other processes have compressed. */
function warnWithoutZstd(): void {
  if (process.versions.zstd !== undefined) return
  process.emitWarning(
    `PushPop stores items uncompressed and cannot read compressed ones, because Node ${process.versions.node} ` +
      'has no zstd: use Node 22.15 or newer',
    { code: 'PUSHPOP_NO_ZSTD' },
  )
}
