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
import type { Fault, FaultOdds } from './faults.ts'

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
