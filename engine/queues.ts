// The engine as its callers see it: all verbs in one object. What a push, a pop or a settling needs is loaded with it;
// the other verbs are loaded by the first call of one of them.

import { batchingOf } from '../shared/linger.ts'
import { createEngine, type QueuesOptions } from './create-engine.ts'
import type { Engine } from './driver/engine.ts'
import type {
  ByIdVerbs,
  LookingVerbs,
  PoppingVerbs,
  PushingVerbs,
  SettlingVerbs,
  TransactingVerbs,
} from './item-verbs.ts'
import { housekeep } from './upkeep/housekeep.ts'
import type {
  ApplyingVerbs,
  ConfiguringVerbs,
  SchedulingVerbs,
  UpkeepVerbs,
} from './upkeep-verbs.ts'
import { pushVerbs } from './verbs/push.ts'
import { acknowledge, acknowledgeMany, deadLetter, extend, release } from './verbs/settle.ts'
import { popOrWait } from './verbs/wait-for-items.ts'

export type { PopRequest, PushItem, PushRequest } from './core/check-requests.ts'
export type { Missed, Schedule, ScheduleInput } from './core/schedule.ts'
export type { QueuePatternInput, QueuePatterns } from './core/settings.ts'
export type { LaneState } from './core/views.ts'
export type * from './item-verbs.ts'
export type * from './upkeep-verbs.ts'
export type { QueuesOptions }

/**
 * The engine's verbs. Expected outcomes are values; what a caller must act on is a `QueueError`
 * with a code from `shared/errors.ts`; anything else that is thrown is a bug of ours.
 */
export interface Queues
  extends PushingVerbs,
    TransactingVerbs,
    PoppingVerbs,
    SettlingVerbs,
    ByIdVerbs,
    LookingVerbs,
    ConfiguringVerbs,
    SchedulingVerbs,
    ApplyingVerbs,
    UpkeepVerbs {}

/** The engine on a table and bucket. The Lambdas and the tests use it, and so does code that needs no HTTP. */
export function createQueues(options: QueuesOptions): Queues {
  const engine = createEngine(options)
  warnWithoutZstd()
  return {
    ...pushVerbs(engine, batchingOf(options.linger)),
    pop: (queue, request) => popOrWait(engine, queue, request),
    acknowledge: (queue, request) => acknowledge(engine, queue, request),
    acknowledgeMany: (queue, lockIds) => acknowledgeMany(engine, queue, lockIds),
    extend: (queue, request) => extend(engine, queue, request),
    release: (queue, request) => release(engine, queue, request),
    deadLetter: (queue, request) => deadLetter(engine, queue, request),
    housekeep: (queue, request) => housekeep(engine, queue, request),
    ...loadedByFirstCall(engine),
  }
}

const seldom = [
  ...(['apply', 'pushTransactItem', 'transact'] as const),
  ...(['inspect', 'browse', 'list', 'scheduled'] as const),
  ...(['cancel', 'move', 'purge', 'redrive'] as const),
  ...(['configuration', 'configure', 'unconfigure'] as const),
  ...(['patterns', 'configurePatterns', 'deployPatterns'] as const),
  ...(['schedule', 'schedules', 'putSchedule', 'deleteSchedule'] as const),
  ...(['runSchedule', 'pauseSchedule', 'resumeSchedule', 'deploySchedules'] as const),
  ...(['returnExpiredLocks', 'wake', 'announceWaiting', 'startTimers'] as const),
]

type Seldom = (typeof seldom)[number]

/** Loads these verbs at their first call, so that no push or pop loads code at its start that it never uses. */
function loadedByFirstCall(engine: Engine): Pick<Queues, Seldom> {
  type Verb = (...given: unknown[]) => Promise<unknown>
  const verbs = seldom.map((name): [string, Verb] => [
    name,
    async (...given) => {
      const loaded: SeldomVerbs = await import('./seldom-verbs.ts')
      return (loaded[name] as Verb)(engine, ...given)
    },
  ])
  return Object.fromEntries(verbs) as unknown as Pick<Queues, Seldom>
}

/** As their files have them: with the engine that they work on. */
type SeldomVerbs = {
  readonly [Name in Seldom]: (
    engine: Engine,
    ...given: Parameters<Queues[Name]>
  ) => ReturnType<Queues[Name]>
}

/** Warn here, at the start, and not only when a pop meets items that other processes have compressed. */
function warnWithoutZstd(): void {
  if (process.versions.zstd !== undefined) return
  process.emitWarning(
    `PushPop stores items uncompressed and cannot read compressed ones, because Node ${process.versions.node} ` +
      'has no zstd: use Node 22.15 or newer',
    { code: 'PUSHPOP_NO_ZSTD' },
  )
}
