import type { Random } from '../../../../testing/random.ts'
import * as errors from '../../../../testing/simulated/network.ts'
import type { SimulatedRequest } from '../../../../testing/simulated/store.ts'

/** How often each kind may happen: most per request, staleness per read; a world draws one of these odds. */
// biome-ignore format: a table
const strengths = {
  throttled: [0, 0.01, 0.05, 0.2],            // Refused by the rate limit, at random.
  'answer-lost': [0, 0.01, 0.03, 0.1],        // Applied; the answer never comes.
  'request-lost': [0, 0.01, 0.05],            // Never arrived; the sender cannot tell.
  'lands-late': [0, 0.01, 0.03, 0.1],         // The sender gets a timeout; it lands seconds or minutes later.
  'server-error-applied': [0, 0.01, 0.05],    // 5xx after it was applied.
  'server-error': [0, 0.01, 0.05],
  conflict: [0, 0.02, 0.1],                   // Definite: another transaction touches the item.
  crash: [0, 0.005, 0.02, 0.05],              // The writer dies at this request; a new one takes its place.
  pause: [0, 0.005, 0.02, 0.05],              // The writer freezes for seconds or minutes.
  slow: [0, 0.01, 0.1],                       // An answer that takes seconds.
  'stale-read': [0, 0.2, 0.5, 0.9],           // An eventually consistent read sees the past.
  's3-unavailable': [0, 0.05, 0.3],           // 503 SlowDown from S3.
  'event-missed': [0, 0.1, 0.5, 1],
  'event-repeated': [0, 0.1, 0.5],
  'event-late': [0, 0.1, 0.5],
} as const

export type Fault = keyof typeof strengths

export type FaultOdds = Readonly<Record<Fault, number>>

export const faults = Object.keys(strengths) as readonly Fault[]

export const noFaults = Object.fromEntries(faults.map((fault) => [fault, 0])) as FaultOdds

export function drawFaults(random: Random, faultFree: boolean): FaultOdds {
  if (faultFree) return noFaults
  const odds: Record<Fault, number> = { ...noFaults }
  // Either every kind by chance, or two kinds alone and often: rare meetings of two are then common.
  const few = random.chance(0.4) ? [random.pick(faults), random.pick(faults)] : undefined
  for (const fault of faults) {
    const choices: readonly number[] = strengths[fault]
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
  const lost = () =>
    random.chance(0.5) ? errors.requestTimeout(timeoutMs) : errors.connectionReset()
  const applied = (goMs: number, comeMs: number): RequestPlan => ({
    fault,
    applyAfterMs: there + goMs,
    error: undefined,
    answerDelayMs: latency() + comeMs,
  })
  const failed = (error: Error, applyAfterMs?: number): RequestPlan => {
    const isTimeout = error.message.includes('timed out')
    const afterMs = isTimeout ? timeoutMs : there + latency()
    return { fault, applyAfterMs, error: { error, afterMs }, answerDelayMs: 0 }
  }
  if (fault === undefined) return applied(0, 0)
  if (fault === 'slow') return applied(random.pick([0, ...slowMs]), random.pick(slowMs))
  if (fault === 'throttled') return failed(throttledError(request, random))
  if (fault === 's3-unavailable') return failed(errors.slowDown())
  if (fault === 'conflict') return failed(conflictError(request, random))
  if (fault === 'server-error') return failed(serverError(request))
  if (fault === 'server-error-applied') return failed(serverError(request), there)
  if (fault === 'request-lost') return failed(lost())
  if (fault === 'answer-lost') return failed(lost(), there)
  if (fault !== 'lands-late') throw new Error(`${fault} is no fault of a single request`)
  return failed(lost(), there + random.pick(lateMs) * (0.5 + random.next()))
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
  return random.pick([
    errors.provisionedThroughputExceeded,
    errors.throttling,
    errors.requestLimitExceeded,
  ])()
}

function conflictError(request: SimulatedRequest, random: Random): Error {
  if (request.name !== 'TransactWriteCommand') return errors.transactionConflict()
  const { TransactItems } = request.input as { TransactItems: readonly unknown[] }
  const at = random.between(0, TransactItems.length - 1)
  return errors.transactionCanceledByConflict(TransactItems.length, at)
}

const serverError = (request: SimulatedRequest): Error =>
  request.service === 's3' ? errors.s3InternalError() : errors.internalServerError()
