import { batchingOf } from '../shared/linger.ts'
import type { PopRequest, PushItem } from './core/check-requests.ts'
import { createEngine, type QueuesOptions } from './create-engine.ts'
import type { Engine } from './driver/engine.ts'
import type {
  AcknowledgeResult,
  BrowsePage,
  BrowseRequest,
  ByIdVerbs,
  HousekeepReport,
  HousekeepRequest,
  InspectRequest,
  LaterVerbs,
  ListRequest,
  PopOutcome,
  PushingVerbs,
  QueuePage,
  QueueState,
  ReleaseRequest,
  SettleRequest,
  TransactItem,
} from './item-verbs.ts'
import { housekeep } from './upkeep/housekeep.ts'
import type {
  AnnounceReport,
  AnnounceRequest,
  ApplyingVerbs,
  ConfiguringVerbs,
  SchedulingVerbs,
  StartTimersReport,
  SweepReport,
  SweepRequest,
  WakingVerbs,
} from './upkeep-verbs.ts'
import { pushVerbs } from './verbs/push.ts'
import { acknowledge, acknowledgeMany, deadLetter, extend, release } from './verbs/settle.ts'
import { popOrWait } from './verbs/wait-for-items.ts'

export type * from './item-verbs.ts'

export type { QueuesOptions }

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

export type SeldomVerbs = Pick<Queues, (typeof seldom)[number]>

/** Loads these verbs at their first call, so that no push or pop loads code at its start that it never uses. */
function loadedByFirstCall(engine: Engine): SeldomVerbs {
  type Verb = (...given: unknown[]) => Promise<unknown>
  const verbs = seldom.map((name): [string, Verb] => [
    name,
    async (...given) => {
      const { seldomVerbs } = await import('./seldom-verbs.ts')
      return (seldomVerbs(engine)[name] as Verb)(...given)
    },
  ])
  return Object.fromEntries(verbs) as unknown as SeldomVerbs
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

/**
 * The engine's verbs. Expected outcomes are values; what a caller must act on is a `QueueError`
 * with a code from `shared/errors.ts`; anything else that is thrown is a bug of ours.
 */
export interface Queues
  extends ConfiguringVerbs,
    ApplyingVerbs,
    ByIdVerbs,
    LaterVerbs,
    SchedulingVerbs,
    PushingVerbs,
    WakingVerbs {
  /** An entry for the caller's own TransactWriteItems (document client form): pushes with it, or not at all. */
  pushTransactItem(queue: string, item: PushItem): Promise<TransactItem>
  /**
   * The loop around `pushTransactItem`: pushes the items in a transaction that `send` sends with these
   * entries. It tries again if the queue is in the way, and throws the caller's own errors. It returns what
   * `send` returned, or undefined if the transaction passed and its answer was lost.
   */
  transact<T>(
    queue: string,
    items: readonly PushItem[],
    send: (entries: readonly TransactItem[]) => Promise<T>,
  ): Promise<T | undefined>
  pop(queue: string, request?: PopRequest): Promise<PopOutcome>
  acknowledge(
    queue: string,
    request: SettleRequest,
  ): Promise<{ readonly itemsAcknowledged: number }>
  acknowledgeMany(queue: string, lockIds: readonly string[]): Promise<readonly AcknowledgeResult[]>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
  ): Promise<{ readonly lockId: string; readonly expiresAtMs: number; readonly ttlSeconds: number }>
  release(queue: string, request: ReleaseRequest): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    queue: string,
    request: SettleRequest & { readonly reason?: string | undefined },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
  inspect(queue: string, request?: InspectRequest): Promise<QueueState>
  browse(queue: string, request?: BrowseRequest): Promise<BrowsePage>
  list(request?: ListRequest): Promise<QueuePage>
  /** Seals, offloads, recalls, trims and dead-letters what the record says is due. */
  housekeep(queue: string, request?: HousekeepRequest): Promise<HousekeepReport>
  /** Ends expired locks of due queues. Each run is bounded, and the next one goes on where it ended. */
  returnExpiredLocks(request?: SweepRequest): Promise<SweepReport>
  /** Announces every queue that has items and no consumer at work, for consumers that were repaired or are new. */
  announceWaiting(request?: AnnounceRequest): Promise<AnnounceReport>
  /** Gives a timer to queues whose items came without one. Once a day, a walk through all queues is due. */
  startTimers(request: { readonly deadlineMs: number }): Promise<StartTimersReport>
}
