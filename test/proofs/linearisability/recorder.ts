// Does one operation on one queue and writes down what was asked, what was answered, and when.
//
// Times are CLOCK_MONOTONIC (process.hrtime): on Linux one clock for all processes of a machine,
// and so on macOS and Windows; without that, histories of several processes could not be compared.

import type {
  PopOutcome,
  PoppedItem,
  PopRequest,
  PushRequest,
  Queues,
  SettleRequest,
} from '../../../lambdas/engine/queues.ts'
import type { Call } from './checker.ts'
import type { PoppedName, QueueAnswer, QueueOperation, SettleVerb } from './queue-model.ts'

export type RecordedCall = Call<QueueOperation, QueueAnswer> & {
  readonly worker: string
  /** Date.now() at the end, to be compared with the times of locks. */
  readonly returnedMs: number
}

export type HeldLock = {
  readonly id: string
  readonly expiresAtMs: number
  readonly items: readonly { readonly name: string; readonly id: string }[]
}

export type Popped =
  | { readonly kind: 'items'; readonly lock?: HeldLock; readonly itemsAcknowledged?: number }
  | { readonly kind: 'empty' | 'locked' | 'refused' | 'unknown' }

export type Recorder = {
  readonly calls: readonly RecordedCall[]
  /** What was thrown and is no QueueError: faults of the engine. */
  readonly faults: readonly string[]
  /** Calls that failed and say that they changed nothing, by code. */
  readonly failures: Readonly<Record<string, number>>
  push(
    items: readonly { readonly name: string; readonly priority: number }[],
    key?: string,
  ): Promise<'pushed' | 'refused' | 'unknown'>
  pop(request: PopRequest): Promise<Popped>
  settle(
    verb: SettleVerb,
    lock: HeldLock | { readonly id: string },
    names?: readonly string[],
  ): Promise<'settled' | 'refused' | 'unknown'>
  acknowledgeMany(lockIds: readonly string[]): Promise<void>
  extend(lockId: string, ttlSeconds: number): Promise<void>
  purge(priority?: number): Promise<void>
  inspect(): Promise<void>
  browse(limit: number): Promise<void>
  housekeep(): Promise<boolean>
  returnExpiredLocks(): Promise<void>
  /** Takes everything out of the dead-letter queue. */
  drainDeadLetters(): Promise<void>
}

export const nowNs = (): number => Number(process.hrtime.bigint())

/** A text that says which item it is, and shows damage. */
export function textOf(name: string, characters: number): string {
  return JSON.stringify(`${name}|`.padEnd(characters, `${name}.`))
}

export function nameOf(text: string, characters: number): string {
  const name = /^"([^|"]*)/.exec(text)?.[1] ?? ''
  return text === textOf(name, characters) ? name : `damaged ${text.slice(0, 60)}`
}

export function createRecorder(
  queues: Queues,
  queue: string,
  worker: string,
  characters: number,
): Recorder {
  const calls: RecordedCall[] = []
  const faults: string[] = []
  const failures: Record<string, number> = {}
  let attempts = 0

  /** `undefined`: no answer, or one that says that nothing happened. */
  async function record<T>(
    operations: readonly QueueOperation[],
    run: () => Promise<T>,
    toAnswers: (result: T) => readonly (QueueAnswer | undefined)[],
  ): Promise<{ kind: 'answered'; result: T } | { kind: 'refused' | 'unknown' | 'failed' }> {
    const calledAt = nowNs()
    const keep = (answers: readonly (QueueAnswer | undefined)[]) => {
      const returnedAt = nowNs()
      for (const [index, operation] of operations.entries()) {
        const answer = answers[index]
        const times = { calledAt, returnedAt, returnedMs: Date.now() }
        calls.push({ worker, operation, ...times, ...(answer && { answer }) })
      }
    }
    try {
      const result = await run()
      keep(toAnswers(result))
      return { kind: 'answered', result }
    } catch (error) {
      const failure = failureOf(error)
      switch (failure.kind) {
        case 'refused':
          keep(operations.map(() => ({ kind: 'refused', code: failure.code })))
          return { kind: 'refused' }
        case 'unknown':
          keep([])
          return { kind: 'unknown' }
        case 'nothing':
          failures[failure.code] = (failures[failure.code] ?? 0) + 1
          return { kind: 'failed' }
        case 'fault':
          faults.push(`${queue}: ${operations[0]?.kind ?? 'background'}: ${failure.text}`)
          // It may have done anything.
          keep([])
          return { kind: 'unknown' }
        default:
          return failure satisfies never
      }
    }
  }

  const popped = (item: PoppedItem): PoppedName => ({
    name: nameOf(item.text, characters),
    id: item.id,
    priority: item.priority,
    deliveries: item.deliveries,
  })

  return {
    calls,
    faults,
    failures,

    async push(items, key) {
      const request: PushRequest = {
        items: items.map(({ name, priority }) => ({ text: textOf(name, characters), priority })),
        ...(key !== undefined && { idempotencyKey: key }),
      }
      const outcome = await record(
        [{ kind: 'push', items, ...(key !== undefined && { key }) }],
        () => queues.push(queue, request),
        ({ ids }) => [{ kind: 'pushed', ids }],
      )
      if (outcome.kind === 'answered') return 'pushed'
      return outcome.kind === 'unknown' ? 'unknown' : 'refused'
    },

    async pop(request) {
      const operation: QueueOperation = {
        kind: 'pop',
        count: request.count ?? 1,
        requireAck: request.requireAck ?? false,
        competing: request.competing ?? false,
        attempt: `${worker}.${attempts++}`,
        ...(request.acknowledge !== undefined && { acknowledge: request.acknowledge }),
        ...(request.idempotencyKey !== undefined && { key: request.idempotencyKey }),
      }
      const outcome = await record(
        [operation],
        () => queues.pop(queue, request),
        (result) => [answerOf(result, popped)],
      )
      if (outcome.kind === 'unknown') return { kind: 'unknown' }
      if (outcome.kind !== 'answered') return { kind: 'refused' }
      const { result } = outcome
      if (result.kind !== 'items') return { kind: result.kind }
      const items = result.items.map(popped)
      return {
        kind: 'items',
        ...(result.lock && {
          lock: { id: result.lock.id, expiresAtMs: result.lock.expiresAtMs, items },
        }),
        ...(result.itemsAcknowledged !== undefined && {
          itemsAcknowledged: result.itemsAcknowledged,
        }),
      }
    },

    async settle(verb, lock, names) {
      const ids =
        names === undefined || !('items' in lock)
          ? undefined
          : lock.items.filter(({ name }) => names.includes(name)).map(({ id }) => id)
      const request: SettleRequest = { lockId: lock.id, ...(ids && { ids }) }
      const outcome = await record(
        [{ kind: 'settle', verb, lockId: lock.id, ...(names && { names }) }],
        () => settleWith(queues, queue, verb, request),
        (items) => [{ kind: 'settled', items }],
      )
      if (outcome.kind === 'answered') return 'settled'
      return outcome.kind === 'unknown' ? 'unknown' : 'refused'
    },

    async acknowledgeMany(lockIds) {
      await record(
        lockIds.map((lockId) => ({ kind: 'settle', verb: 'acknowledge', lockId })),
        () => queues.acknowledgeMany(queue, lockIds),
        (results) =>
          lockIds.map((lockId) => {
            const result = results.find((it) => it.lockId === lockId)
            if (result === undefined) return { kind: 'refused', code: 'no result' }
            if (result.kind === 'acknowledged') {
              return { kind: 'settled', items: result.itemsAcknowledged }
            }
            // Whether that one took effect is not known.
            if (result.code === 'STORE_UNAVAILABLE') return undefined
            return { kind: 'refused', code: result.code }
          }),
      )
    },

    async extend(lockId, ttlSeconds) {
      await record(
        [{ kind: 'extend', lockId }],
        () => queues.extend(queue, { lockId, ttlSeconds }),
        ({ expiresAtMs }) => [{ kind: 'extended', expiresAtMs }],
      )
    },

    async purge(priority) {
      const request = priority === undefined ? {} : { priority }
      await record(
        [{ kind: 'purge', ...request }],
        () => queues.purge(queue, request),
        ({ itemsPurged }) => [{ kind: 'purged', items: itemsPurged }],
      )
    },

    async inspect() {
      await record(
        [{ kind: 'inspect' }],
        () => queues.inspect(queue, { consistent: true }),
        ({ count, lockedCount, lanes, locks }) => [
          {
            kind: 'state',
            count,
            lockedCount,
            lanes: lanes
              .filter((lane) => lane.count > 0)
              .map((lane) => ({ priority: lane.priority, count: lane.count }))
              .sort((a, b) => a.priority - b.priority),
            locks: locks.map((lock) => ({ expiresAtMs: lock.expiresAtMs, count: lock.count })),
          },
        ],
      )
    },

    async browse(limit) {
      await record(
        [{ kind: 'browse', limit }],
        () => queues.browse(queue, { limit }),
        ({ items, cursor }) => [
          {
            kind: 'page',
            items: items.map((item) => ({ ...popped(item), state: item.state })),
            more: cursor !== undefined,
          },
        ],
      )
    },

    async housekeep() {
      const outcome = await record(
        [],
        () => queues.housekeep(queue),
        () => [],
      )
      return outcome.kind === 'answered' && outcome.result.finished
    },

    async returnExpiredLocks() {
      await record(
        [],
        () => queues.returnExpiredLocks({ queuesMax: 100 }),
        () => [],
      )
    },

    async drainDeadLetters() {
      await record(
        [{ kind: 'dead-letters' }],
        async () => {
          const names: string[] = []
          for (;;) {
            const result = await queues.pop(`${queue}-deadletter`, { count: 100 })
            if (result.kind !== 'items') return names
            names.push(...result.items.map((item) => popped(item).name))
          }
        },
        (names) => [{ kind: 'dead', names }],
      )
    },
  }
}

async function settleWith(
  queues: Queues,
  queue: string,
  verb: SettleVerb,
  request: SettleRequest,
): Promise<number> {
  switch (verb) {
    case 'acknowledge':
      return (await queues.acknowledge(queue, request)).itemsAcknowledged
    case 'release':
      return (await queues.release(queue, request)).itemsReleased
    case 'deadLetter':
      return (await queues.deadLetter(queue, request)).itemsDeadLettered
    default:
      return verb satisfies never
  }
}

function answerOf(result: PopOutcome, popped: (item: PoppedItem) => PoppedName): QueueAnswer {
  switch (result.kind) {
    case 'items':
      return {
        kind: 'items',
        items: result.items.map(popped),
        more: result.more,
        ...(result.lock && {
          lock: { id: result.lock.id, expiresAtMs: result.lock.expiresAtMs },
        }),
        ...(result.itemsAcknowledged !== undefined && {
          itemsAcknowledged: result.itemsAcknowledged,
        }),
      }
    case 'empty':
      return {
        kind: 'empty',
        ...(result.itemsAcknowledged !== undefined && {
          itemsAcknowledged: result.itemsAcknowledged,
        }),
      }
    case 'locked':
      return { kind: 'locked', expiresAtMs: result.expiresAtMs }
    default:
      return result satisfies never
  }
}

type Failure =
  | { readonly kind: 'refused'; readonly code: string }
  /** It may have taken effect, or may yet. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'nothing'; readonly code: string }
  | { readonly kind: 'fault'; readonly text: string }

/** By name and not by class: the engine may come from another folder. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'fault', text: String(error) }
  if (error.name !== 'QueueError') return { kind: 'fault', text: error.stack ?? error.message }
  const { code, outcome } = error as Error & { code: string; outcome?: 'unknown' }
  if (outcome === 'unknown') return { kind: 'unknown' }
  if (code === 'BUSY' || code === 'STORE_UNAVAILABLE' || code === 'SEGMENT_UNAVAILABLE') {
    return { kind: 'nothing', code }
  }
  return { kind: 'refused', code }
}
