import type { Random } from '../../../../testing/random.ts'
import {
  connectionReset,
  internalServerError,
  provisionedThroughputExceeded,
  requestLimitExceeded,
  requestTimeout,
  s3InternalError,
  slowDown,
  throttling,
  transactionCanceledByConflict,
  transactionConflict,
} from '../../../../testing/simulated/faults.ts'
import type { SimulatedRequest } from '../../../../testing/simulated/simulated-store.ts'

/** Probabilities by kind: most per request, staleness per read. */
export type FaultOdds = Readonly<Record<Fault, number>>

export const faults = [
  /** Refused by the rate limit, at random. */
  'throttled',
  /** Applied; the answer never comes. */
  'answer-lost',
  /** Never arrived; the sender cannot tell. */
  'request-lost',
  /** The sender gets a timeout; the request lands seconds or minutes later. */
  'lands-late',
  /** 5xx after it was applied. */
  'server-error-applied',
  'server-error',
  /** Definite: another transaction touches the item. */
  'conflict',
  /** The writer dies at this request; a new one with empty memory takes its place. */
  'crash',
  /** The writer freezes for seconds or minutes. */
  'pause',
  /** An answer that takes seconds. */
  'slow',
  /** An eventually consistent read sees the past. */
  'stale-read',
  /** 503 SlowDown from S3. */
  's3-unavailable',
  'event-missed',
  'event-repeated',
  'event-late',
] as const

export type Fault = (typeof faults)[number]

const none = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>

export const noFaults: FaultOdds = none

/** Reads may be stale and events late in the calmest world too: that is no fault of anything. */
const strong: Readonly<Record<Fault, readonly number[]>> = {
  throttled: [0, 0.01, 0.05, 0.2],
  'answer-lost': [0, 0.01, 0.03, 0.1],
  'request-lost': [0, 0.01, 0.05],
  'lands-late': [0, 0.01, 0.03, 0.1],
  'server-error-applied': [0, 0.01, 0.05],
  'server-error': [0, 0.01, 0.05],
  conflict: [0, 0.02, 0.1],
  crash: [0, 0.005, 0.02, 0.05],
  pause: [0, 0.005, 0.02, 0.05],
  slow: [0, 0.01, 0.1],
  'stale-read': [0, 0.2, 0.5, 0.9],
  's3-unavailable': [0, 0.05, 0.3],
  'event-missed': [0, 0.1, 0.5, 1],
  'event-repeated': [0, 0.1, 0.5],
  'event-late': [0, 0.1, 0.5],
}

export function drawFaults(random: Random, faultFree: boolean): FaultOdds {
  if (faultFree) return none
  const odds = { ...none }
  // Either every kind by chance, or two kinds alone and often: rare meetings of two are then common.
  const few = random.chance(0.4) ? [random.pick(faults), random.pick(faults)] : undefined
  for (const fault of faults) {
    const choices = strong[fault]
    if (few === undefined) odds[fault] = random.chance(0.5) ? random.pick(choices) : 0
    else if (few.includes(fault)) odds[fault] = choices.at(-1) as number
  }
  return odds
}

/**
 * In one world of eight, a process that loses an answer is frozen before it hears of that. When it looks for what
 * it did, others have gone on: a note has become a receipt, a lock has ended, items have moved.
 */
export const hearsLate = (seed: number): boolean => seed % 8 === 3

export const heardLateMs = [6_000, 180_000] as const

/** Often enough to meet it. */
export const oddsOf = (seed: number, odds: FaultOdds): FaultOdds =>
  hearsLate(seed) ? { ...odds, 'answer-lost': Math.max(0.03, odds['answer-lost']) } : odds

/** When a request reaches the store, if at all, and what its sender hears when. */
type RequestPlan = {
  readonly fault: Fault | undefined
  /** From now; undefined: never applied. */
  readonly applyAfterMs: number | undefined
  /** From now; the store's own answer comes `answerDelayMs` after it was applied. */
  readonly error: { readonly error: Error; readonly afterMs: number } | undefined
  readonly answerDelayMs: number
}

const lateMs = [50, 1_000, 10_000, 60_000, 300_000, 900_000]
const slowMs = [200, 1_500, 10_000]
const timeoutMs = 3_000

export function planRequest(
  request: SimulatedRequest,
  odds: FaultOdds,
  latencyMaxMs: number,
  random: Random,
): RequestPlan {
  const latency = (): number => (random.chance(0.2) ? 0 : random.next() * latencyMaxMs)
  const there = latency()
  const fault = drawFault(request, odds, random)
  const lost = () => (random.chance(0.5) ? requestTimeout(timeoutMs) : connectionReset())
  const unknown = (error: Error, applyAfterMs: number | undefined): RequestPlan => ({
    fault,
    applyAfterMs,
    error: { error, afterMs: error.message.includes('timed out') ? timeoutMs : there + latency() },
    answerDelayMs: 0,
  })
  const definite = (error: Error): RequestPlan => ({
    fault,
    applyAfterMs: undefined,
    error: { error, afterMs: there + latency() },
    answerDelayMs: 0,
  })
  switch (fault) {
    case undefined:
      return { fault, applyAfterMs: there, error: undefined, answerDelayMs: latency() }
    case 'slow': {
      const [a, b] = [random.pick([0, ...slowMs]), random.pick(slowMs)]
      return { fault, applyAfterMs: there + a, error: undefined, answerDelayMs: latency() + b }
    }
    case 'throttled':
      return definite(throttledError(request, random))
    case 's3-unavailable':
      return definite(slowDown())
    case 'conflict':
      return definite(conflictError(request, random))
    case 'server-error':
      return unknown(serverError(request), undefined)
    case 'server-error-applied':
      return unknown(serverError(request), there)
    case 'request-lost':
      return unknown(lost(), undefined)
    case 'answer-lost':
      return unknown(lost(), there)
    case 'lands-late':
      return unknown(lost(), there + random.pick(lateMs) * (0.5 + random.next()))
    default:
      throw new Error(`${fault} is no fault of a single request`)
  }
}

function drawFault(request: SimulatedRequest, odds: FaultOdds, random: Random): Fault | undefined {
  const write = isWrite(request)
  const s3 = request.service === 's3'
  if (random.chance(odds.slow)) return 'slow'
  if (random.chance(odds['request-lost'])) return 'request-lost'
  if (random.chance(odds['server-error'])) return 'server-error'
  if (s3 && random.chance(odds['s3-unavailable'])) return 's3-unavailable'
  if (!s3 && random.chance(odds.throttled)) return 'throttled'
  if (!write) return undefined
  if (random.chance(odds['answer-lost'])) return 'answer-lost'
  if (random.chance(odds['lands-late'])) return 'lands-late'
  if (random.chance(odds['server-error-applied'])) return 'server-error-applied'
  if (!s3 && canConflict(request) && random.chance(odds.conflict)) return 'conflict'
  return undefined
}

const reads = new Set(['GetCommand', 'QueryCommand', 'BatchGetCommand', 'GetObjectCommand'])

export const isWrite = ({ name }: SimulatedRequest): boolean => !reads.has(name)

const canConflict = ({ name }: SimulatedRequest): boolean => name !== 'BatchWriteCommand'

function throttledError(request: SimulatedRequest, random: Random): Error {
  if (request.name === 'TransactWriteCommand' && random.chance(0.5))
    return conflictError(request, random)
  return random.pick([provisionedThroughputExceeded, throttling, requestLimitExceeded])()
}

function conflictError(request: SimulatedRequest, random: Random): Error {
  if (request.name !== 'TransactWriteCommand') return transactionConflict()
  const { TransactItems } = request.input as { TransactItems: readonly unknown[] }
  const at = random.between(0, TransactItems.length - 1)
  return transactionCanceledByConflict(TransactItems.length, at)
}

const serverError = (request: SimulatedRequest): Error =>
  request.service === 's3' ? s3InternalError() : internalServerError()
