// Which calls the client sends again, and when. Two questions: may it send this call again at all (a table of verbs),
// and does that make sense (attempts, time, what the service asked for)?

import { checkOptions, type Names } from '../shared/options.ts'
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

/**
 * May the client send a call again after a lost answer, when it may have been carried out already?
 *
 * - `always`: reads; and calls about one lock, which its id identifies for ever: it ends once and never
 *   lives again, so a second copy finds it ended and changes nothing.
 * - `with-key`, `with-if-match`: only with a key or revision that keeps a second copy from having an effect.
 * - `if-asked`: a second copy takes another slot of a rate limit, and the first stays empty. Nobody gets two turns,
 *   so the caller may choose.
 * - `never`: a second copy would take what came in between (other items, pushed or dead-lettered), or get an answer
 *   that is not true of the first call (a place in line that was given up, an item that is gone because the first
 *   call has cancelled or moved it).
 */
export const afterLostAnswer = {
  push: 'with-key',
  pushMany: 'with-key',
  pop: 'with-key',
  acknowledge: 'always',
  acknowledgeMany: 'always',
  extend: 'always',
  release: 'always',
  deadLetter: 'always',
  inspect: 'always',
  peek: 'always',
  scheduled: 'always',
  configuration: 'always',
  configure: 'with-if-match',
  unconfigure: 'with-if-match',
  queuePatterns: 'always',
  configureQueuePatterns: 'with-if-match',
  cancel: 'never',
  move: 'never',
  schedules: 'always',
  schedule: 'always',
  putSchedule: 'with-if-match',
  deleteSchedule: 'with-if-match',
  runSchedule: 'never',
  pauseSchedule: 'never',
  resumeSchedule: 'never',
  purge: 'never',
  redrive: 'never',
  queues: 'always',
  health: 'always',
  decideRate: 'if-asked',
  rateState: 'always',
  verifyTicket: 'always',
  giveUpTicket: 'never',
  rateConfiguration: 'always',
  configureRate: 'with-if-match',
  unconfigureRate: 'with-if-match',
  ratePatterns: 'always',
  configureRatePatterns: 'with-if-match',
} as const

export type Verb = keyof typeof afterLostAnswer

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

const page = ['items', 'details']
const settings = ['segment_size']
const limit = ['max_requests']
const schedule = ['name']

/** What our code reads of each answer. A proxy, or another service, may answer 200 and `{}`. */
const fieldsOf: Readonly<Record<Verb, readonly string[]>> = {
  push: ['ids'],
  pushMany: ['ids'],
  pop: page,
  acknowledge: ['items_acknowledged'],
  acknowledgeMany: ['results'],
  extend: ['lock_id', 'lock_expires_at', 'ttl_seconds'],
  release: ['items_released'],
  deadLetter: ['items_dead_lettered'],
  inspect: ['priorities', 'locks', 'configuration'],
  peek: page,
  scheduled: page,
  configuration: settings,
  configure: settings,
  unconfigure: settings,
  queuePatterns: ['patterns'],
  configureQueuePatterns: ['patterns'],
  cancel: ['results'],
  move: ['results'],
  schedules: ['schedules'],
  schedule,
  putSchedule: schedule,
  deleteSchedule: ['deleted'],
  runSchedule: ['ids'],
  pauseSchedule: schedule,
  resumeSchedule: schedule,
  purge: ['items_purged'],
  redrive: ['items_redriven', 'items_left'],
  queues: ['queues'],
  health: ['status'],
  decideRate: ['allowed'],
  rateState: ['shards', 'configuration'],
  verifyTicket: ['state', 'not_before'],
  giveUpTicket: ['given_up'],
  rateConfiguration: limit,
  configureRate: limit,
  unconfigureRate: limit,
  ratePatterns: ['patterns'],
  configureRatePatterns: ['patterns'],
}
/** Of these, our code goes through the values. */
const lists = /^(ids|items|details|results|priorities|patterns|schedules|queues|shards)$/

export function isAnswerTo(verb: Verb, body: object): boolean {
  // The inbox has taken the push; there are no ids yet.
  if ('accepted' in body && fieldsOf[verb][0] === 'ids') return 'message_id' in body
  return fieldsOf[verb].every((name) => {
    const value = (body as Readonly<Record<string, unknown>>)[name]
    return lists.test(name) ? Array.isArray(value) : value !== undefined
  })
}
