import { AsyncLocalStorage } from 'node:async_hooks'
import type { Stretch } from '../../../../../engine/core/record.ts'
import { QueueError } from '../../../../../shared/errors.ts'
import type { Command } from './command.ts'

/** One call of a verb by a writer, from its start to what became of it. */
export type Operation<C extends Command = Command> = {
  readonly id: number
  readonly writer: string
  readonly command: C
  readonly startedMs: number
  /** Commits to any queue record before it was called, or before its last pause if it waits. */
  startedAtCommit: number
  /** The earliest and the latest that the writer's clock showed while it ran. */
  clockMinMs: number
  clockMaxMs: number
  /** The latest, before its pauses too. */
  latestMs: number
  requests: number
  /** One of its requests failed, and not because another had come first. */
  isHindered: boolean
  outcome: Outcome | undefined
  /** Of a push that lingers: all such of its process and queue without an answer, the first of them first. */
  together?: () => readonly Operation[]
  readonly effects: Effects
}

export type Outcome =
  | { readonly kind: 'success'; readonly value: unknown; readonly atCommit: number }
  /** A definite error: it must not have changed anything, nor may it yet. */
  | { readonly kind: 'refused'; readonly error: QueueError; readonly atCommit: number }
  | { readonly kind: 'unknown'; readonly error: QueueError; readonly atCommit: number }
  | { readonly kind: 'crashed' }
  /** Something that is none of our errors: always a fault of the engine. */
  | { readonly kind: 'broken'; readonly error: unknown }

/** The effects of an operation's requests, by the record before and after each of them. */
class Effects {
  appended = 0
  readonly takes: Take[] = []
  /** All of it may have expired while it ran: it is a take only if the answer says so. */
  maybeTaken: Take | undefined
  /** Expired items that it took out of its queue. */
  passedOver = 0
  /** Items settled out of the locks it named. */
  readonly settledByLock = new Map<string, number>()
  settledAtCommit = 0
  readonly releasedByLock = new Map<string, number>()
  readonly buriedByLock = new Map<string, number>()
  readonly extended = new Set<string>()
  /** The rules of its queue's limits of which it has slots. */
  readonly slots = new Set<string>()
  purged = 0
  redriven = 0
  /** The ids of items that it took out by their ids: cancelled, or to be moved. */
  readonly takenOut = new Set<string>()
  /** Where items came that it moved, by their texts. */
  readonly movedTo = new Map<string, string>()
  configured = 0
}

export type Take = {
  /** Absent where the items were settled as they were taken. */
  readonly lockId: string | undefined
  readonly stretches: readonly (Stretch & { readonly epoch: string })[]
  /** Ids of those that may have expired while it ran: it took them, or passed over them. */
  readonly maybe: ReadonlySet<string>
}

/** Tells a request which operation sent it, however many one engine has under way. */
export const currentOperation = new AsyncLocalStorage<Operation>()

/** The model, as far as it counts. */
type Counts = {
  operations: number
  readonly commits: number
  readonly world: { readonly scheduler: { readonly nowMs: number } }
}

const unread = { clockMinMs: Number.POSITIVE_INFINITY, clockMaxMs: Number.NEGATIVE_INFINITY }

export function startOperation(model: Counts, writer: string, command: Command): Operation {
  model.operations += 1
  return {
    id: model.operations,
    writer,
    command,
    startedMs: model.world.scheduler.nowMs,
    startedAtCommit: model.commits,
    ...unread,
    latestMs: Number.NEGATIVE_INFINITY,
    requests: 0,
    isHindered: false,
    outcome: undefined,
    effects: new Effects(),
  }
}

/** Carries out a call in the name of its operation; `done` hears what became of it. */
export function carryOut(
  operation: Operation,
  act: () => Promise<unknown>,
  atCommit: () => number,
  done: (outcome: Outcome) => void,
): void {
  const fail = (error: unknown): void => {
    const kind = (error as QueueError).outcome === 'unknown' ? 'unknown' : 'refused'
    if (error instanceof QueueError) done({ kind, error, atCommit: atCommit() })
    else done({ kind: 'broken', error })
  }
  const succeed = (value: unknown) => done({ kind: 'success', value, atCommit: atCommit() })
  currentOperation.run(operation, () => act().then(succeed, fail))
}

export function readClock(nowMs: number): void {
  const operation = currentOperation.getStore()
  if (operation === undefined) return
  operation.clockMinMs = Math.min(operation.clockMinMs, nowMs)
  operation.clockMaxMs = Math.max(operation.clockMaxMs, nowMs)
  operation.latestMs = Math.max(operation.latestMs, nowMs)
}

/** What a waiting pop answers must be true after its last pause: what it saw before is no excuse. */
export function judgeFromHere(operation: Operation, commits: number): void {
  Object.assign(operation, { startedAtCommit: commits, ...unread })
}
