// What it means when a request fails: whether it may have been carried out, whether another try helps, and how long
// we are patient. Only this file tells the errors of AWS's clients apart: by class name and status, never by text.
// Only this file knows how to keep a client from waiting without end, and from repeating a request by itself.

import type { Random } from '../shared/system.ts'
import { isUnsent } from '../shared/wire.ts'
import { fromAttributes } from './attribute-values.ts'
import type { Row } from './table.ts'

/** What an error says about the request. */
export type Failure =
  /** A condition did not hold: nothing changed, and DynamoDB may have returned the item. */
  | 'condition'
  /** A transaction was cancelled: nothing changed; its reasons say why. */
  | 'cancelled'
  /** DynamoDB lacked capacity units; nothing changed, and we should try again. */
  | 'throttled'
  /** A transaction is at work on the item; nothing changed, and the conflict ends within milliseconds. */
  | 'conflict'
  /** The request never left this machine: nothing changed, and we should try again. */
  | 'unsent'
  /** Nothing changed: the request is wrong, or not allowed. A bug of ours, or a fault of the deployment. */
  | 'refused'
  | 'missing'
  /** The answer was lost, or the service failed: the change may have happened, or may still happen. */
  | 'unknown'

const byName: Readonly<Record<string, Failure>> = {
  ConditionalCheckFailedException: 'condition',
  TransactionCanceledException: 'cancelled',
  ProvisionedThroughputExceededException: 'throttled',
  ThrottlingException: 'throttled',
  Throttling: 'throttled',
  RequestLimitExceeded: 'throttled',
  RequestThrottled: 'throttled',
  TransactionConflictException: 'conflict',
  // A copy with the same token, which somebody's client has sent again, is still at work: it may land.
  TransactionInProgressException: 'unknown',
  SlowDown: 'throttled',
  RequestNotSentError: 'unsent',
  RequestNotMadeError: 'refused',
  CredentialsProviderError: 'refused',
  NoSuchKey: 'missing',
  NotFound: 'missing',
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'unknown'
  const known = byName[error.name]
  if (known !== undefined) return known
  if (isUnsent(error)) return 'unsent'
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unknown'
}

/** Failures after which another try makes sense. */
export type Passing = Extract<Failure, 'throttled' | 'conflict' | 'unsent' | 'unknown'>

export const isPassing = (failure: Failure): failure is Passing =>
  failure === 'throttled' || failure === 'conflict' || failure === 'unsent' || failure === 'unknown'

/** Reasons for a cancelled transaction that are no fault of the request. */
const passingReasons = new Set([
  'None',
  'ConditionalCheckFailed',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
])

/** Whether another transaction or a write was in the way, rather than a lack of capacity units. */
export const isConflict = (error: unknown): boolean => {
  const { CancellationReasons = [] } = error as { CancellationReasons?: { Code?: string }[] }
  const codes = CancellationReasons.map(({ Code = 'None' }) => Code)
  return codes.every((code) => code === 'None' || code === 'TransactionConflict')
}

/** What happened to one of its entries. */
export type Cancellation = { readonly failed: boolean; readonly row: Row | undefined }

export function cancellationReasons(error: unknown): Cancellation[] {
  const { CancellationReasons = [] } = error as {
    CancellationReasons?: { Code?: string; Item?: object }[]
  }
  const wrong = CancellationReasons.find(({ Code }) => !passingReasons.has(Code ?? 'None'))
  // A request that is wrong (too large, say) will not get better by repeating it.
  if (wrong !== undefined) throw error
  return CancellationReasons.map(({ Code, Item }) => ({
    failed: Code === 'ConditionalCheckFailed',
    row: Item && fromAttributes(Item),
  }))
}

/** There was no connection, so no part of the request left this machine, and nothing changed. */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError'

  constructor(host: string, cause: unknown) {
    const { message, code } = cause as NodeJS.ErrnoException
    // If none of several addresses answers, Node's error has no message.
    const why = message || code
    super(`Cannot send the request because there is no connection to ${host}: ${why}`, { cause })
  }
}

/** We could not write or sign the request, so nothing was sent; trying again would not help. */
export class RequestNotMadeError extends Error {
  override readonly name = 'RequestNotMadeError'

  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Has the name that the SDK's own handler gives it, for clients with their own retries. */
export const timeoutError = (message: string): Error =>
  Object.assign(new Error(message), { name: 'TimeoutError', code: 'ETIMEDOUT' })

export const abortError = ({ reason }: AbortSignal): Error =>
  Object.assign(new Error('The caller aborted the request', { cause: reason }), {
    name: 'AbortError',
  })

/** How often we send a request that is refused for now, and with which pauses. */
export type Patience = {
  readonly attemptsMax: number
  /** After pauses of this length in all, we give up. */
  readonly lastsMs?: number
  pauseMs(attempt: number, random: Random): number
}

/**
 * 25 + 50 + … + 400 + 400 ms, each shortened by up to half at random: more than a second in all, in which
 * a throttled item has let a thousand units pass. The caller has 29 seconds at most.
 */
const steadyPatience: Patience = {
  attemptsMax: 8,
  pauseMs(attempt, random) {
    const most = Math.min(400, 25 * 2 ** (attempt - 1))
    return most / 2 + (most / 2) * random()
  },
}

/**
 * For requests whose delay would hurt all others: a seal makes the room that every append waits for. With a
 * pause of 3 ms it takes the next unit that a throttled item lets pass; 400 pauses last as long as a seal may
 * take.
 */
const eagerPatience: Patience = { attemptsMax: 400, pauseMs: () => 3 }

/**
 * A transaction holds its items for some 10 ms, and there is no queue: the first request after its end wins.
 * So we ask again soon, at a random time, and often: within three seconds of pauses, 64 transactions on one
 * item have each had their turn. AWS bills each refusal like a write: some 50 fit into that time, and 100 are
 * the most.
 */
const conflictPatience: Patience = {
  attemptsMax: 100,
  lastsMs: 3_000,
  pauseMs: (attempt, random) => Math.min(120, 10 * 2 ** (attempt - 1)) * random(),
}

/** For work that another process does a moment later if we fail: about a tenth of a second, for few billed refusals. */
export const briefPatience: Patience = {
  attemptsMax: 5,
  pauseMs: (attempt, random) => 10 * attempt * (0.5 + random()),
}

export function patienceFor(failure: Passing, isEager: boolean): Patience {
  // Each try may wait a second for its connection.
  if (failure === 'unsent') return steadyPatience
  if (isEager) return eagerPatience
  return failure === 'conflict' ? conflictPatience : steadyPatience
}

/** How long after its time a call may still clean up: less than a function keeps to end in. */
export const CLEAN_UP_MS = 2_000

/**
 * How long a store may take for a whole answer, its body included. A late answer must be an error, after
 * which the engine finds out what happened (decision 0002).
 */
export const answerTimeoutsMs = {
  /** Even slow answers hardly ever take this long; four of them, with pauses, fit into the gateway's 30 s. */
  dynamodb: 3_000,
  /** Segments of large items are megabytes, which travel at some 50 MB a second. */
  s3: 10_000,
  /** `put-events.ts` allows for four of them. */
  eventBridge: 3_000,
  /** Answers take some 20 ms within a region; `send.ts` allows for three timeouts. */
  sqs: 3_000,
  /** Lambda only queues the event. */
  lambda: 3_000,
} as const

/**
 * After a thaw, a process runs its timers before it reads its sockets. So this acts only after it has read them: an
 * answer that came meanwhile counts.
 */
export const afterReading = (ms: number, act: () => void): NodeJS.Timeout =>
  setTimeout(() => setImmediate(act), ms)

export type SendOptions = { readonly abortSignal?: AbortSignal }

/**
 * With the SDK's own request handler, a client waits as long as it is configured to, and without end for
 * a body. Ours has a deadline (`createRequestHandler`), and a simulation needs none.
 */
export function hasDeadline(port: object): boolean {
  const { config } = port as { config?: { requestHandler?: object } }
  return config === undefined || 'answerTimeoutMs' in (config.requestHandler ?? {})
}

/** Aborts the request when its time is over, and then stops waiting, whatever becomes of it. */
export async function withinDeadline<T>(
  ms: number,
  request: (options: SendOptions) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    deadline = afterReading(ms, () => {
      const error = timeoutError(`there was no answer within ${ms} ms`)
      reject(error)
      controller.abort(error)
    })
  })
  try {
    return await Promise.race([request({ abortSignal: controller.signal }), late])
  } finally {
    clearTimeout(deadline)
  }
}

type Stacked = {
  middlewareStack?: {
    add(middleware: (next: unknown) => unknown, options: Record<string, unknown>): void
  }
}

/**
 * The SDK repeats a request after a timeout or a reset connection, although the first one may have been
 * carried out or still may be: an append would then be there twice. So we take the retry out of every
 * command, however the caller's client is configured, and `dynamo.ts` repeats only requests that certainly
 * changed nothing.
 */
export function withoutSdkRetry<T extends object>(command: T): T {
  const { middlewareStack } = command as Stacked
  middlewareStack?.add((next) => next, {
    name: 'retryMiddleware',
    tags: ['RETRY'],
    step: 'finalizeRequest',
    priority: 'high',
    override: true,
  })
  return command
}
