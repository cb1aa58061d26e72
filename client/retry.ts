// Which calls the client sends again, and when. Two questions: may it send this call again at all (the table of verbs),
// and does that make sense (attempts, time, what the service asked for)?

import { checkOptions, type Names } from '../shared/options.ts'
import { afterLostAnswer, has, type Verb } from '../shared/verbs.ts'
import type { PushPopError } from './errors.ts'
import type { RetryOptions } from './queue.ts'

export type RetryPolicy = {
  readonly [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]>
}

/** With the pauses below, this outlasts some 3 s, which is as long as throttling or a deployment takes. */
const ATTEMPTS_MAX = 5
/** As long as two answers that never come (`timeoutMs`); no caller waits longer. */
const TOTAL_MS = 60_000

const names: Names<RetryOptions> = { attemptsMax: 0, totalMs: 0, onRetry: 0 }

export const retryPolicy = (options: RetryOptions = {}): RetryPolicy => {
  checkOptions(options, names)
  return {
    attemptsMax: options.attemptsMax ?? ATTEMPTS_MAX,
    totalMs: options.totalMs ?? TOTAL_MS,
    onRetry: options.onRetry ?? (() => {}),
  }
}

export type Failure =
  /** The service said no: nothing was changed. */
  | { readonly kind: 'refused'; readonly error: PushPopError }
  /** No answer, or none that says whether something was changed. */
  | { readonly kind: 'lost'; readonly error: PushPopError }

type Repeatability = {
  readonly verb: Verb
  /** It has a key (`with-key`) or a revision (`with-if-match`), or the caller asked for repeats. */
  readonly isRepeatable: boolean
}

export function mayRepeat(
  { kind, error }: Failure,
  { verb, isRepeatable }: Repeatability,
): boolean {
  if (!error.retryable) return false
  // A caller may ask to wait for a lock, but this rule does not cover it: a lock may live for minutes.
  if (error.code === 'QUEUE_LOCKED') return false
  return kind === 'refused' || isRepeatable || afterLostAnswer[verb] === 'always'
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Full jitter: a random part of a time that doubles with each failure, on top of what the service asked for. */
export function pauseMs(failures: number, retryAfterMs = 0, random = Math.random): number {
  const bound = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1))
  return retryAfterMs + random() * bound
}

/**
 * A 423's `Retry-After` says when the lock ends if nobody touches it, but most locks are acknowledged long
 * before. So we take it as a maximum, and look at the queue sooner, which costs one small read.
 */
export function lockPauseMs(failures: number, retryAfterMs = 0, random = Math.random): number {
  const bound = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
  return Math.min(retryAfterMs || bound, bound) * (0.5 + random() / 2)
}

/** Of these, our code goes through the values. */
const lists = /^(ids|items|details|results|priorities|patterns|schedules|queues|shards)$/

export function isAnswerTo(verb: Verb, body: object): boolean {
  // The inbox has taken the push; there are no ids yet.
  const wanted: readonly string[] = has[verb]
  if ('accepted' in body && wanted[0] === 'ids') return 'message_id' in body
  return wanted.every((name) => {
    const value = (body as Readonly<Record<string, unknown>>)[name]
    return lists.test(name) ? Array.isArray(value) : value !== undefined
  })
}
