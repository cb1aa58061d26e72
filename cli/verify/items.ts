import type { PopOptions, Popped, Queue } from '../../client/index.ts'
import { Broken, holds } from './claims.ts'

/** A lock that ends soon, but leaves time for a cold start of the function that settles it. */
export const SHORT_SECONDS = 4

/** After this long it has expired, by every clock within half a second of ours. */
export const PAST_SHORT_MS = SHORT_SECONDS * 1_000 + 500

/** The same for a lock of one second, if a step only waits for its end. */
export const PAST_A_SECOND_MS = 1_500

/** A pop takes no more. */
const POP_MAX = 100

export const pushAll = <T>(queue: Queue<T>, values: readonly T[], priority = 0) =>
  queue.pushMany(values.map((item) => ({ item, priority })))

export const valuesIn = <T>({ items }: { readonly items: readonly { readonly value: T }[] }): T[] =>
  items.map(({ value }) => value)

export const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, n) => from + n)

export type Locked<T> = Popped<T> & { readonly lockId: string }

/** Pops under a lock; broken if the service gives none. */
export async function lock<T>(queue: Queue<T>, options: PopOptions = {}): Promise<Locked<T>> {
  const popped = await queue.pop({ ack: true, ...options })
  holds(popped.lock !== undefined, 'a pop with require_ack of a queue with items gave no lock')
  return { ...popped, lockId: popped.lock.id }
}

/** Takes all items, for good and in order. */
export async function drained<T>(queue: Queue<T>, atMost: number): Promise<T[]> {
  const values: T[] = []
  for (;;) {
    const popped = valuesIn(await queue.pop({ count: POP_MAX }))
    values.push(...popped)
    if (popped.length === 0) return values
    // A service that repeats items must not keep us for ever.
    if (values.length > atMost) throw new Broken(`more items came out than the ${atMost} pushed`)
  }
}

/**
 * Runs every task to its end, even if one fails: no call of a step may land after its queues were
 * emptied.
 */
export async function together<T>(works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const settled = await Promise.allSettled(works.map((work) => work()))
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
