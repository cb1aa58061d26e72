import { batchingOf } from '../foundation/shared/linger/options.ts'
import { createEngine, type QueuesOptions } from './create-engine.ts'
import type { Engine } from './operations/attempts/engine.ts'
import { popOrWait } from './operations/popping/wait.ts'
import { pushVerbs } from './operations/pushing/linger.ts'
import { acknowledge, acknowledgeMany } from './operations/settling/acknowledge.ts'
import { extend } from './operations/settling/extend.ts'
import { deadLetter, release } from './operations/settling/settle.ts'
import { housekeep } from './operations/sweeping/housekeep.ts'
import type { Queues } from './verbs.ts'

export type * from './verbs.ts'
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
