// Does one operation on one queue and records the request, the answer and their times.
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
} from '../../../engine/queues.ts'
import type { Call } from './checker.ts'
import { failureOf } from './failure.ts'
import type {
  PoppedName,
  PushedName,
  QueueAnswer,
  QueueOperation,
  SettleVerb,
} from './queue-state.ts'

export type RecordedCall = Call<QueueOperation, QueueAnswer> & {
  readonly worker: string
  /** Date.now() at the end, to be compared with the times of locks. */
  readonly returnedMs: number
}

export type HeldLock = {
  readonly id: string
  readonly items: readonly { readonly name: string; readonly id: string }[]
}

export type Named = { readonly id: string; readonly name: string }

export type Popped = {
  readonly kind: 'items' | 'empty' | 'locked' | 'refused' | 'unknown'
  readonly lock?: HeldLock
}

export type Recorder = ReturnType<typeof createRecorder>

type Answered = 'answered' | 'refused' | 'unknown'

const nowNs = (): number => Number(process.hrtime.bigint())

/** A text that says which item it is, and shows damage. */
export function textOf(name: string, characters: number): string {
  return JSON.stringify(`${name}|`.padEnd(characters, `${name}.`))
}

export function nameOf(text: string, characters: number): string {
  const name = /^"([^|"]*)/.exec(text)?.[1] ?? ''
  return text === textOf(name, characters) ? name : `damaged ${text.slice(0, 60)}`
}

export function createRecorder(queues: Queues, queue: string, worker: string, characters: number) {
  const calls: RecordedCall[] = []
  const faults: string[] = []
  const failures: Record<string, number> = {}
  let attempts = 0
  /** What has had these ids, as far as this caller was told, the last to be told last. */
  const named = new Map<string, string>()
  const learn = (id: string, name: string): void => {
    named.delete(id)
    named.set(id, name)
  }

  /** An answer of `undefined`: nobody knows whether that operation took effect. */
  async function record<T>(
    operations: readonly QueueOperation[],
    run: () => Promise<T>,
    toAnswers: (result: T) => readonly (QueueAnswer | undefined)[] = () => [],
  ): Promise<{ readonly kind: Answered; readonly result?: T }> {
    const calledAt = nowNs()
    const keep = (answers: readonly (QueueAnswer | undefined)[]) => {
      const times = { calledAt, returnedAt: nowNs(), returnedMs: Date.now() }
      for (const [index, operation] of operations.entries()) {
        const answer = answers[index]
        calls.push({ worker, operation, ...times, ...(answer && { answer }) })
      }
    }
    try {
      const result = await run()
      keep(toAnswers(result))
      return { kind: 'answered', result }
    } catch (error) {
      const failure = failureOf(error)
      if (failure.kind === 'refused' && mayBeRepeated.has(failure.code)) {
        failures[failure.code] = (failures[failure.code] ?? 0) + 1
      } else if (failure.kind === 'refused') {
        keep(operations.map(() => ({ kind: 'refused', code: failure.code })))
      } else {
        // After a fault of the engine anything may have happened as well.
        keep([])
        const what = operations[0]?.kind ?? 'background'
        if (failure.kind === 'fault') faults.push(`${queue}: ${what}: ${failure.text}`)
      }
      return { kind: failure.kind === 'refused' ? 'refused' : 'unknown' }
    }
  }

  const popped = (item: PoppedItem): PoppedName => ({
    name: nameOf(item.text, characters),
    id: item.id,
    priority: item.priority,
    deliveries: item.deliveries,
  })

  return {
    calls: calls as readonly RecordedCall[],
    /** What was thrown and is no QueueError: faults of the engine. */
    faults: faults as readonly string[],
    /** Calls that failed and say that they changed nothing, by code. */
    failures: failures as Readonly<Record<string, number>>,

    /** The last ids that this caller was told, whatever has become of the items since. */
    known: (count: number): readonly Named[] =>
      [...named].slice(-count).map(([id, name]) => ({ id, name })),

    async push(items: readonly PushedName[], key?: string): Promise<Answered> {
      const request: PushRequest = {
        items: items.map(({ name, priority, later }) => ({
          text: textOf(name, characters),
          priority,
          ...(later !== undefined && { delaySeconds: later === 'soon' ? 1 : 3_600 }),
        })),
        ...(key !== undefined && { idempotencyKey: key }),
      }
      const { kind, result } = await record(
        [{ kind: 'push', items, ...(key !== undefined && { key }) }],
        () => queues.push(queue, request),
        ({ ids }) => [{ kind: 'pushed', ids }],
      )
      for (const [index, id] of result?.ids.entries() ?? []) {
        learn(id, (items[index] as PushedName).name)
      }
      return kind
    },

    /** Each is answered for itself, so each is an operation of its own. */
    async cancel(items: readonly Named[]): Promise<void> {
      await record(
        items.map(({ id, name }) => ({ kind: 'cancel', id, name })),
        () =>
          queues.cancel(
            queue,
            items.map(({ id }) => id),
          ),
        (results) => results.map(({ result }) => ({ kind: 'by-id', result })),
      )
    },

    async move({ id, name }: Named, priority: number): Promise<void> {
      const { result } = await record(
        [{ kind: 'move', id, name, priority }],
        async () => (await queues.move(queue, { ids: [id], priority }))[0]!,
        (moved) => [
          moved.result === 'moved'
            ? { kind: 'moved', ...(moved.newId !== undefined && { newId: moved.newId }) }
            : { kind: 'by-id', result: moved.result },
        ],
      )
      if (result?.result === 'moved' && result.newId !== undefined) learn(result.newId, name)
    },

    /** Tells this caller the ids of what is scheduled. */
    async listScheduled(): Promise<readonly Named[]> {
      const { result } = await record([], () => queues.scheduled(queue, { limit: 100 }))
      const listed = (result?.items ?? []).map(({ id, text }) => ({
        id,
        name: nameOf(text, characters),
      }))
      for (const { id, name } of listed) learn(id, name)
      return listed
    },

    async pop(request: PopRequest): Promise<Popped> {
      const operation: QueueOperation = {
        kind: 'pop',
        count: request.count ?? 1,
        requireAck: request.requireAck ?? false,
        competing: request.competing ?? false,
        attempt: `${worker}.${attempts++}`,
        ...(request.acknowledge !== undefined && { acknowledge: request.acknowledge }),
        ...(request.idempotencyKey !== undefined && { key: request.idempotencyKey }),
      }
      const { kind, result } = await record(
        [operation],
        () => queues.pop(queue, request),
        (outcome) => [answerOf(outcome, popped)],
      )
      if (result === undefined) return { kind: kind === 'unknown' ? 'unknown' : 'refused' }
      if (result.kind !== 'items' || result.lock === undefined) return { kind: result.kind }
      return { kind: 'items', lock: { id: result.lock.id, items: result.items.map(popped) } }
    },

    async settle(
      verb: SettleVerb,
      lock: HeldLock | { readonly id: string },
      names?: readonly string[],
    ): Promise<Answered> {
      const ids =
        names === undefined || !('items' in lock)
          ? undefined
          : lock.items.filter(({ name }) => names.includes(name)).map(({ id }) => id)
      const request: SettleRequest = { lockId: lock.id, ...(ids && { ids }) }
      const { kind } = await record(
        [{ kind: 'settle', verb, lockId: lock.id, ...(names && { names }) }],
        () => settleWith(queues, queue, verb, request),
        (items) => [{ kind: 'settled', items }],
      )
      return kind
    },

    async acknowledgeMany(lockIds: readonly string[]): Promise<void> {
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

    async extend(lockId: string, ttlSeconds: number): Promise<void> {
      await record(
        [{ kind: 'extend', lockId }],
        () => queues.extend(queue, { lockId, ttlSeconds }),
        ({ expiresAtMs }) => [{ kind: 'extended', expiresAtMs }],
      )
    },

    async purge(priority?: number): Promise<void> {
      const request = priority === undefined ? {} : { priority }
      await record(
        [{ kind: 'purge', ...request }],
        () => queues.purge(queue, request),
        ({ itemsPurged }) => [{ kind: 'purged', items: itemsPurged }],
      )
    },

    async inspect(): Promise<void> {
      await record(
        [{ kind: 'inspect' }],
        () => queues.inspect(queue, { consistent: true }),
        ({ count, scheduledCount, lockedCount, lanes, locks }) => [
          {
            kind: 'state',
            count,
            scheduledCount,
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

    async browse(limit: number): Promise<void> {
      const { result } = await record(
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
      for (const { id, text } of result?.items ?? []) learn(id, nameOf(text, characters))
    },

    async housekeep(): Promise<boolean> {
      const { result } = await record([], () => queues.housekeep(queue))
      return result?.finished ?? false
    },

    async returnExpiredLocks(): Promise<void> {
      await record([], () => queues.returnExpiredLocks({ queuesMax: 100 }))
    },

    /** Takes everything out of the dead-letter queue. */
    async drainDeadLetters(): Promise<void> {
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
  if (result.kind === 'locked') return { kind: 'locked', expiresAtMs: result.expiresAtMs }
  const { itemsAcknowledged } = result
  const settled = itemsAcknowledged === undefined ? {} : { itemsAcknowledged }
  if (result.kind === 'empty') return { kind: 'empty', ...settled }
  const { id, expiresAtMs } = result.lock ?? {}
  const lock = id === undefined || expiresAtMs === undefined ? {} : { lock: { id, expiresAtMs } }
  return { kind: 'items', items: result.items.map(popped), more: result.more, ...lock, ...settled }
}

/** They say that nothing happened, for a reason that passes. */
const mayBeRepeated = new Set(['BUSY', 'STORE_UNAVAILABLE', 'SEGMENT_UNAVAILABLE'])
