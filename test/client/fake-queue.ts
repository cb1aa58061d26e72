// A queue in memory that keeps locks, keys and expiry as the service does, and fails when told to:
// what `consume` is tried on with time that does not pass by itself.

import {
  type Item,
  type Popped,
  PushPopError,
  type Queue,
  type ReleaseOptions,
} from '../../client/index.ts'

type LiveLock = { ids: string[]; expiresAtMs: number; key: string | undefined }
type Verb = 'pop' | 'acknowledge' | 'extend' | 'release' | 'deadLetter'

export type FakeQueue = Queue<string> & {
  readonly calls: { verb: Verb; atMs: number; detail: unknown }[]
  /** What waits and is in no live lock, in order. */
  readonly waiting: () => string[]
  readonly acknowledged: string[]
  readonly dead: { value: string; reason: string }[]
  readonly locks: Map<string, LiveLock>
  push(value: string): Promise<{ id: string }>
  /** The next call of this verb fails, before or after its effect. */
  failNext(verb: Verb, error: Error, when?: 'before' | 'after'): void
}

export const lostAnswer = () =>
  new PushPopError('NETWORK_ERROR', 'lost', { retryable: true, outcome: 'unknown' })

export function fakeQueue(...values: string[]): FakeQueue {
  const items: { item: Item<string>; deliveries: number }[] = []
  const locks = new Map<string, LiveLock>()
  const calls: FakeQueue['calls'] = []
  const acknowledged: string[] = []
  const ended = new Map<string, number>()
  const settled = new Set<string>()
  const dead: FakeQueue['dead'] = []
  const failures: { verb: Verb; error: Error; when: 'before' | 'after' }[] = []
  let lockNumber = 0
  let itemNumber = 0
  const add = (value: string) => {
    const id = `i${++itemNumber}`
    const item = {
      value,
      text: JSON.stringify(value),
      id,
      priority: 0,
      pushedAtMs: 0,
      deliveries: 1,
    }
    items.push({ item, deliveries: 0 })
    return id
  }
  for (const value of values) add(value)

  const expire = () => {
    for (const [id, lock] of locks) if (lock.expiresAtMs <= Date.now()) locks.delete(id)
  }
  const retries: { ids: readonly string[]; dueMs: number }[] = []
  const locked = () => {
    const waiting = retries.filter(({ dueMs }) => dueMs > Date.now())
    return new Set([...locks.values(), ...waiting].flatMap(({ ids }) => ids))
  }
  const free = () => {
    const taken = locked()
    return items.filter(({ item }) => !taken.has(item.id))
  }
  const lockOf = (id: string): LiveLock => {
    expire()
    const lock = locks.get(id)
    if (lock) return lock
    throw new PushPopError('LOCK_EXPIRED', 'Lock has expired', { status: 410 })
  }
  const end = (id: string, ids: readonly string[] | undefined): string[] => {
    const lock = lockOf(id)
    const some = [...(ids ?? lock.ids)]
    if (!some.every((one) => lock.ids.includes(one))) {
      throw new PushPopError('INVALID_PARAMETER', 'not of this lock', { status: 400 })
    }
    lock.ids = lock.ids.filter((it) => !some.includes(it))
    if (lock.ids.length === 0) locks.delete(id)
    return some
  }
  /** Some items of a lock, acknowledged once more. */
  const isRepeated = (id: string, ids: readonly string[]): boolean =>
    ids.every((one) => settled.has(`${id} ${one}`))
  const remove = (ids: readonly string[]): string[] =>
    ids.map((id) => {
      const at = items.findIndex(({ item }) => item.id === id)
      return (items.splice(at, 1)[0] as (typeof items)[number]).item.value
    })
  const acknowledge = (id: string, ids?: readonly string[]): number => {
    const before = ended.get(id)
    if (before !== undefined && !locks.has(id)) return before
    if (ids !== undefined && isRepeated(id, ids)) return ids.length
    const some = end(id, ids)
    for (const one of some) settled.add(`${id} ${one}`)
    ended.set(id, some.length)
    acknowledged.push(...remove(some))
    return some.length
  }
  async function call<R>(verb: Verb, detail: unknown, effect: () => R): Promise<R> {
    calls.push({ verb, atMs: Date.now(), detail })
    const at = failures.findIndex((it) => it.verb === verb)
    const failure = at === -1 ? undefined : failures.splice(at, 1)[0]
    await Promise.resolve()
    if (failure?.when === 'before') throw failure.error
    const result = effect()
    if (failure !== undefined) throw failure.error
    return result
  }

  const fake = {
    id: 'fake',
    calls,
    acknowledged,
    dead,
    locks,
    waiting: () => free().map(({ item }) => item.value),
    failNext: (verb: Verb, error: Error, when: 'before' | 'after' = 'before') => {
      failures.push({ verb, error, when })
    },
    push: async (value: string) => ({ id: add(value) }),
    pop: (options: Parameters<Queue<string>['pop']>[0] = {}) =>
      call('pop', options, (): Popped<string> => {
        expire()
        const { count = 1, ttlSeconds = 30, competing, idempotencyKey: key } = options
        const again = [...locks].find(([, lock]) => key !== undefined && lock.key === key)
        if (options.acknowledge !== undefined) {
          const others = [...locks.keys()].filter((id) => id !== options.acknowledge)
          if (!competing && others.length > 0 && again === undefined) throw queueLocked()
          acknowledge(options.acknowledge)
        } else if (!competing && locks.size > 0 && again === undefined) throw queueLocked()
        if (again !== undefined) {
          const [id, lock] = again
          const same = items.filter(({ item }) => lock.ids.includes(item.id))
          const found = same.map(({ item }) => item)
          return {
            items: found,
            more: false,
            lock: { id, ttlSeconds, expiresAtMs: lock.expiresAtMs },
          }
        }
        const some = free().slice(0, count)
        if (some.length === 0) return { items: [], more: false }
        for (const one of some) one.deliveries += 1
        const id = `L${++lockNumber}`
        const expiresAtMs = Date.now() + ttlSeconds * 1000
        locks.set(id, { ids: some.map(({ item }) => item.id), expiresAtMs, key })
        const found = some.map(({ item, deliveries }) => ({ ...item, deliveries }))
        return { items: found, more: false, lock: { id, ttlSeconds, expiresAtMs } }
      }),
    acknowledge: (id: string, { ids }: { ids?: readonly string[] } = {}) =>
      call('acknowledge', { id, ids }, () => ({ itemsAcknowledged: acknowledge(id, ids) })),
    extend: (id: string, ttlSeconds: number) =>
      call('extend', { id }, () => {
        const lock = lockOf(id)
        lock.expiresAtMs = Date.now() + ttlSeconds * 1000
        return { lockId: id, ttlSeconds, expiresAtMs: lock.expiresAtMs }
      }),
    release: (id: string, { ids, ...later }: ReleaseOptions = {}) =>
      call('release', { id, ids, ...later }, () => {
        const some = end(id, ids)
        const { delaySeconds = 0 } = later
        if (delaySeconds > 0) retries.push({ ids: some, dueMs: Date.now() + delaySeconds * 1_000 })
        return { itemsReleased: some.length }
      }),
    deadLetter: (
      id: string,
      { ids, reason = '' }: { ids?: readonly string[]; reason?: string } = {},
    ) =>
      call('deadLetter', { id, ids, reason }, () => {
        if (reason.length > 256 || !reason.isWellFormed()) throw badReason()
        const some = remove(end(id, ids))
        dead.push(...some.map((value) => ({ value, reason })))
        return { itemsDeadLettered: some.length, deadLetterQueue: 'fake-deadletter' }
      }),
  }
  return fake as unknown as FakeQueue
}

const badReason = () => new PushPopError('INVALID_PARAMETER', 'no such reason', { status: 400 })

const queueLocked = () =>
  new PushPopError('QUEUE_LOCKED', 'locked', { status: 423, retryable: true, retryAfterMs: 30_000 })
