// What the steps of a check are written in: claims about the service, of which one that fails throws a sentence for the
// report; and the few things that most steps do with a queue.

import { isDeepStrictEqual } from 'node:util'
import {
  type ErrorCode,
  isPushPopError,
  type PopOptions,
  type Popped,
  type PushPopError,
  type Queue,
} from '../../client/index.ts'

/** The service breaks its promise. */
export class Broken extends Error {}

/** This step cannot be tried here; the message says why. */
export class Skipped extends Error {}

export function holds(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise)
}

export function same(what: string, found: unknown, promised: unknown): void {
  if (isDeepStrictEqual(found, promised)) return
  throw new Broken(`${what}: ${difference(found, promised)}`)
}

export type Refusal = {
  readonly code: ErrorCode
  readonly status?: number
  /** The field that the error must name. */
  readonly field?: string
}

/** Returns the error if the service refuses the call with this code and leaves nothing in doubt. */
export async function refused(call: Promise<unknown>, promised: Refusal): Promise<PushPopError> {
  const error = await call.then(
    (answer) => {
      throw new Broken(`promised the refusal ${promised.code}, found the answer ${shown(answer)}`)
    },
    (error: unknown) => error,
  )
  if (!isPushPopError(error) || (saysNothing(error) && error.code !== promised.code)) throw error
  const { code, status, field } = error
  same('the refusal', { code, status, field }, { status, field, ...promised })
  holds(error.outcome !== 'unknown', `the refusal ${code} leaves open whether it changed something`)
  return error
}

/**
 * Is this error about the network, a bad moment of the service, the gateway's throttle or the caller's
 * rights? Any other refusal is about the promise, because nobody else locks or fills a run's queues.
 */
export const saysNothing = ({ code, status, outcome }: PushPopError): boolean =>
  code !== 'INTERNAL' &&
  (status === undefined || status >= 500 || outcome === 'unknown' || passing.has(code))

const passing: ReadonlySet<ErrorCode> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED'])

/** For long lists only the first place where they differ: nobody reads 600 items. */
function difference(found: unknown, promised: unknown): string {
  if (!Array.isArray(found) || !Array.isArray(promised) || promised.length < LONG) {
    return `promised ${shown(promised)}, found ${shown(found)}`
  }
  const at = promised.findIndex((one, index) => !isDeepStrictEqual(one, found[index]))
  if (at < 0) return `promised ${promised.length} of them, found ${found.length}`
  return (
    `promised ${shown(promised[at])} at ${at}, found ${shown(found[at])} ` +
    `(${promised.length} promised, ${found.length} found)`
  )
}

const LONG = 20
const SHOWN_CHARACTERS_MAX = 240

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text
}

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

type Locked<T> = Popped<T> & { readonly lockId: string }

/** Pops under a lock; broken if the service gives none. */
export async function lock<T>(queue: Queue<T>, options: PopOptions = {}): Promise<Locked<T>> {
  const popped = await queue.pop({ requireAck: true, ...options })
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
