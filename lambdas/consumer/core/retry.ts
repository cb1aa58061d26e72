// When failed items come again. Pure: it reads the options once, and randomness is an argument.

import { RELEASE_DELAY_SECONDS_MAX } from '../../foundation/shared/bounds.ts'
import { checkOptions, type Names } from '../../foundation/shared/known-options.ts'
import type { Retry } from './run.ts'

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
