// What a worker does about trouble: which errors may pass, when to repeat a request, how long to pause, when to give
// up, and when failed items come again. Time and randomness are arguments.

import { RELEASE_DELAY_SECONDS_MAX } from '../bounds.ts'
import { type HeldLock, holdLock, lostLockCodes } from '../hold-lock.ts'
import { checkOptions, type Names } from '../options.ts'
import type { Edge, Retry, Run } from './run.ts'

/** The error with which the service refused: from the engine, or from the client, whose errors say the same. */
type Refusal = Error & {
  readonly code: string
  readonly retryable: boolean
  readonly outcome: 'unknown' | undefined
  readonly retryAfterMs: number | undefined
}

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && 'code' in error && 'retryable' in error && 'outcome' in error

export const refusalIn = (error: unknown): Refusal | undefined =>
  isRefusal(error) ? error : undefined

/** The SDK's names, and those of our lean client, for when there is nothing to sign a request with. */
const unsigned = new Set(['CredentialsProviderError', 'TokenProviderError', 'ProviderError'])

/** Nothing was sent. A metadata service or an issuer of credentials may be away for a moment. */
const isUnsigned = (error: unknown): boolean => error instanceof Error && unsigned.has(error.name)

/** Whether another try makes sense: the store is busy or out of reach, or the answer was lost. */
export const isPassing = (error: unknown): boolean =>
  isUnsigned(error) || (isRefusal(error) && (error.retryable || error.outcome === 'unknown'))

/** For work that goes on by itself, even a fault of the service may pass. */
export const mayPass = (error: unknown): boolean =>
  isPassing(error) || refusalIn(error)?.code === 'INTERNAL'

/** Whether the lock is over: its items are back in the queue, or settled. */
export const isLockLost = (error: unknown): boolean =>
  isRefusal(error) && lostLockCodes.some((code) => code === error.code)

/**
 * An error for the console. What a request met has a code, and its message says it all; a loop that tries again
 * would fill the console with its fields and with stacks of ours. A handler's error is shown whole.
 */
export function inShort(kind: string, error: unknown): unknown {
  return isRefusal(error) && kind !== 'handler' ? `${error.message} (${error.code})` : error
}

/** `sinceMs` is when we asked for the lock: its life began no earlier. */
export const heldLock = (
  { queues, clock, report, late }: Edge,
  queue: string,
  id: string,
  { ttlSeconds, sinceMs }: { readonly ttlSeconds: number; readonly sinceMs: number },
): HeldLock =>
  holdLock(id, {
    ttlSeconds,
    sinceMs,
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    extend: (signal) => queues.extend(queue, { lockId: id, ttlSeconds }, signal),
    late,
    onTrouble: (error) => report({ kind: 'request', what: 'extend', error }),
    isLost: isLockLost,
  })

const TROUBLE_FIRST_MS = 100
const TROUBLE_MS_MAX = 3_000
/** These pauses sit out some six seconds of trouble. After that the run fails, and Lambda repeats it. */
export const TROUBLES_MAX = 5

/** After a request that failed. */
export function troublePauseMs(failures: number, random: () => number): number {
  const bound = Math.min(TROUBLE_MS_MAX, TROUBLE_FIRST_MS * 2 ** failures)
  return bound * (0.5 + random() / 2)
}

/**
 * Repeats a request that settles a lock, even if its answer was lost: an id names one lock, which ends only
 * once, so a second copy finds it ended and changes nothing. Once the work is to end, we stop repeating.
 */
export async function insist<T>(
  { edge: { clock, random }, hurry }: Pick<Run, 'edge' | 'hurry'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || failures > TROUBLES_MAX || hurry.aborted) throw error
      await clock.sleep(troublePauseMs(failures, random), hurry)
    }
  }
}

/**
 * The time that a run keeps for its end. An event, an acknowledgement and a log line take some 50 ms, or
 * a second and more if DynamoDB answers late.
 */
export const END_MS = 2_000

/** The next batch may take longer than any before it. */
const MARGIN = 1.5

/** A run always begins its first batch: one that did nothing would only call the next run. */
export function mayTakeMore(remainingMs: number, longestMs: number): boolean {
  return remainingMs - END_MS > longestMs * MARGIN
}

/** We pay for each millisecond of this wait; for a longer one an event calls the next run. */
const WAIT_MS_MAX = 5_000

/** Whether the run itself waits for failed items to come back: an event may be a few seconds late. */
export const sitsOut = (delayMs: number, remainingMs: number): boolean =>
  delayMs <= WAIT_MS_MAX && mayTakeMore(remainingMs, delayMs)

/**
 * The pause until the queue's limit allows another pop. If that is after the end of this run, the next run goes
 * on waiting.
 */
export const limitPauseMs = (retryAfterMs: number, remainingMs: number): number =>
  Math.max(0, Math.min(retryAfterMs, remainingMs - END_MS))

/** `'30s'`, `'5m'`, `'1h'`, `'1d'`, or a number of seconds: from a second to a day. */
export type Duration = number | `${number}${'s' | 'm' | 'h' | 'd'}`

export type AgainOptions = {
  /** The delay after the first delivery, the second, and so on; the last one also holds for all later deliveries. */
  readonly delays?: readonly Duration[] | undefined
  /** Instead of `delays`: `first`, then `factor` times as long after each delivery, up to `most`. Default 1s, 2, 5m. */
  readonly backoff?:
    | {
        readonly first?: Duration | undefined
        readonly factor?: number | undefined
        readonly most?: Duration | undefined
      }
    | undefined
  /**
   * The part of a delay that is left to chance, from 0 to 1; it only makes the delay shorter. Default 0.25, and 0
   * with `delays`.
   */
  readonly jitter?: number | undefined
  /** Lets other items pass a failed one even in an exclusive queue, which then keeps no order. Default false. */
  readonly overtake?: boolean | undefined
}

const names: Names<AgainOptions> = { delays: 0, backoff: 0, jitter: 0, overtake: 0 }
const backoffNames: Names<NonNullable<AgainOptions['backoff']>> = { first: 0, factor: 0, most: 0 }

/** Doubling from one second reaches a day at the eighteenth delay; a smaller factor takes longer. */
const STEPS_MAX = 100
/** Items that failed together must not all come back together. */
const JITTER_DEFAULT = 0.25
const FACTOR_MAX = 100

export function retryOf(options: AgainOptions = {}): Retry {
  if (Array.isArray(options)) {
    const meant = JSON.stringify(options)
    throw new TypeError(`The consumer’s retry must be an object: { delays: ${meant} }`)
  }
  checkOptions(options, names, 'retry')
  const { delays, backoff, overtake = false } = options
  if (delays !== undefined && backoff !== undefined) {
    throw new TypeError('The consumer’s retry has delays or a backoff, and not both')
  }
  const { jitter = delays === undefined ? JITTER_DEFAULT : 0 } = options
  if (!(0 <= jitter && jitter <= 1)) throw wrong('jitter', 'a number from 0 to 1', jitter)
  return { delaysMs: delays === undefined ? steps(backoff) : listed(delays), jitter, overtake }
}

function listed(delays: readonly Duration[]): number[] {
  if (Array.isArray(delays) && 1 <= delays.length && delays.length <= STEPS_MAX) {
    return delays.map((delay) => msOf('delays', delay))
  }
  throw wrong('delays', `1 to ${STEPS_MAX} delays`, delays)
}

function steps(backoff: AgainOptions['backoff'] = {}): number[] {
  checkOptions(backoff, backoffNames, 'backoff')
  const { first = '1s', factor = 2, most = '5m' } = backoff
  const [firstMs, mostMs] = [msOf('backoff.first', first), msOf('backoff.most', most)]
  if (!(1 <= factor && factor <= FACTOR_MAX)) {
    throw wrong('backoff.factor', `a number from 1 to ${FACTOR_MAX}`, factor)
  }
  const delaysMs = [Math.min(firstMs, mostMs)]
  for (let ms = firstMs; ms < mostMs && delaysMs.length < STEPS_MAX; ) {
    ms *= factor
    delaysMs.push(Math.min(ms, mostMs))
  }
  return delaysMs
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

function msOf(name: string, duration: Duration): number {
  const text = typeof duration === 'number' ? `${duration}s` : String(duration)
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  const seconds = Number(amount) * unitSeconds[unit as keyof typeof unitSeconds]
  if (1 <= seconds && seconds <= RELEASE_DELAY_SECONDS_MAX) return seconds * 1_000
  throw wrong(name, "a time from 1s to 1d, such as '30s', '5m' or '1h'", duration)
}

const wrong = (name: string, what: string, value: unknown): TypeError =>
  new TypeError(
    `The consumer’s retry.${name} must be ${what}, and is ${JSON.stringify(value) ?? value}`,
  )

/** From `deliveries` 1 on. */
export function retryDelayMs(
  { delaysMs, jitter }: Retry,
  deliveries: number,
  random: () => number,
): number {
  const bound = delaysMs[Math.min(deliveries, delaysMs.length) - 1] ?? 0
  return Math.round(bound * (1 - jitter + jitter * random()))
}
