// The engine as its callers see it: all verbs in one object. What a push, a pop or a settling needs is loaded with it;
// the other verbs are loaded by the first call of one of them.

import { batchingOf } from '../shared/linger.ts'
import { loaded } from '../shared/verbs.ts'
import { createEngine, type QueuesOptions } from './create-engine.ts'
import type { Engine } from './driver/engine.ts'
import type { DeployingVerbs } from './upkeep/deploy-schedules.ts'
import { type HousekeepingVerbs, housekeep } from './upkeep/housekeep.ts'
import type { SweepingVerbs } from './upkeep/sweep.ts'
import type { WakingVerbs } from './upkeep/wake.ts'
import type { WalkingVerbs } from './upkeep/walk-queues.ts'
import type { ApplyingVerbs } from './verbs/apply-messages.ts'
import type { CancellingVerbs } from './verbs/cancel.ts'
import type { ChangingSchedulesVerbs } from './verbs/change-schedules.ts'
import type { ConfiguringVerbs } from './verbs/configure.ts'
import type { PagingVerbs } from './verbs/list-items.ts'
import type { ListingVerbs } from './verbs/list-queues.ts'
import type { MovingVerbs } from './verbs/move.ts'
import type { PurgingVerbs } from './verbs/purge.ts'
import { type PushingVerbs, pushVerbs } from './verbs/push.ts'
import type { ReadingSchedulesVerbs } from './verbs/push-due.ts'
import type { RedrivingVerbs } from './verbs/redrive.ts'
import {
  acknowledge,
  acknowledgeMany,
  deadLetter,
  extend,
  release,
  type SettlingVerbs,
} from './verbs/settle.ts'
import type { TransactingVerbs } from './verbs/transact.ts'
import { type PoppingVerbs, popOrWait } from './verbs/wait-for-items.ts'

export type { PopRequest, Pushed, PushItem, PushRequest } from './core/check-requests.ts'
export type { HousekeepReport } from './core/housekeeping.ts'
export type { PoppedItem } from './core/item.ts'
export type { PopOutcome } from './core/plan-pop.ts'
export type {
  DeployedResult,
  DeployedSchedule,
  Missed,
  Schedule,
  ScheduleInput,
  ScheduleName,
} from './core/schedule.ts'
export type { QueuePatternInput, QueuePatterns } from './core/settings.ts'
export type { LaneState } from './core/views.ts'
export type { DeployedSchedules } from './upkeep/deploy-schedules.ts'
export type { SweepFailure } from './upkeep/due-queues.ts'
export type { SweepReport } from './upkeep/end-locks.ts'
export type { HousekeepRequest } from './upkeep/housekeep.ts'
export type { SweepRequest } from './upkeep/sweep.ts'
export type { WakeReport, WakeRequest } from './upkeep/wake.ts'
export type { AnnounceReport, AnnounceRequest, StartTimersReport } from './upkeep/walk-queues.ts'
export type { Applied, ApplyingVerbs, InboxMessage } from './verbs/apply-messages.ts'
export type { CancelResult } from './verbs/cancel.ts'
export type { ConfiguringVerbs, DeployedPatterns } from './verbs/configure.ts'
export type {
  BrowsePage,
  BrowseRequest,
  ItemState,
  ScheduledItem,
  ScheduledPage,
  ScheduledRequest,
} from './verbs/list-items.ts'
export type {
  InspectRequest,
  ListRequest,
  QueuePage,
  QueueState,
  QueueSummary,
  Waiting,
} from './verbs/list-queues.ts'
export type { MoveRequest, MoveResult } from './verbs/move.ts'
export type { PurgeRequest } from './verbs/purge.ts'
export type { PushingVerbs } from './verbs/push.ts'
export type { RedriveRequest } from './verbs/redrive.ts'
export type {
  AcknowledgeResult,
  ReleaseRequest,
  SettleRequest,
  SettlingVerbs,
} from './verbs/settle.ts'
export type { TransactItem, TransactingVerbs } from './verbs/transact.ts'
export type { PoppingVerbs } from './verbs/wait-for-items.ts'
export type { QueuesOptions }

export interface ByIdVerbs extends CancellingVerbs, MovingVerbs, PurgingVerbs, RedrivingVerbs {}
export interface LookingVerbs extends ListingVerbs, PagingVerbs {}
export interface SchedulingVerbs
  extends ReadingSchedulesVerbs,
    ChangingSchedulesVerbs,
    DeployingVerbs {}
export interface UpkeepVerbs extends HousekeepingVerbs, SweepingVerbs, WakingVerbs, WalkingVerbs {}

/**
 * The engine's verbs, each declared beside its code. Expected outcomes are values; what a caller must act on is a
 * `QueueError` with a code from `shared/errors.ts`; anything else that is thrown is a bug of ours.
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

type Loaded = typeof loaded
type Seldom = { [V in keyof Loaded]: Loaded[V] extends 'by first call' ? V : never }[keyof Loaded]

/** Loads these verbs at their first call, so that no push or pop loads code at its start that it never uses. */
function loadedByFirstCall(engine: Engine): Pick<Queues, Seldom> {
  type Verb = (...given: unknown[]) => Promise<unknown>
  const names = Object.keys(loaded) as (keyof Loaded)[]
  const verbs = names.filter(isSeldom).map((name): [string, Verb] => [
    name,
    async (...given) => {
      const seldom: SeldomVerbs = await import('./seldom-verbs.ts')
      return (seldom[name] as Verb)(engine, ...given)
    },
  ])
  return Object.fromEntries(verbs) as unknown as Pick<Queues, Seldom>
}

const isSeldom = (name: keyof Loaded): name is Seldom => loaded[name] === 'by first call'

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
