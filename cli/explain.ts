// Turns any error into what we print and return.

import { errorTable, type HttpErrorCode } from '../lambdas/http/answer.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { Failure, hasCode, messageOf } from './failure.ts'
import { awsError, isUnsent } from './target/aws-errors.ts'

type Explained = {
  readonly exitCode: ExitCode
  readonly sentence: string
  readonly code: string
  /** The call may have had its effect. */
  readonly outcome?: 'unknown'
  readonly retryable?: boolean
}

/** The service's statuses, by what they blame: the request, or how things stand. */
const exitCodeOfStatus: Readonly<Record<number, ExitCode>> = {
  400: exitCodes.wrongUsage,
  403: exitCodes.refused,
  404: exitCodes.refused,
  410: exitCodes.refused,
  412: exitCodes.refused,
  413: exitCodes.wrongUsage,
  422: exitCodes.refused,
  423: exitCodes.refused,
  429: exitCodes.refused,
}

/** Codes whose status would mislead, such as the client's own, which have none. */
const exceptions: Readonly<Record<string, ExitCode>> = {
  INVALID_LOCK_ID: exitCodes.refused,
  NOT_FOUND: exitCodes.failed,
  NOT_JSON: exitCodes.wrongUsage,
  UNAUTHORIZED: exitCodes.refused,
  FORBIDDEN: exitCodes.refused,
}

export function explain(error: unknown): Explained {
  if (error instanceof Failure) {
    return {
      exitCode: error.exitCode,
      sentence: error.message,
      code: error.code,
      ...causeOf(error),
    }
  }
  if (hasCode(error, 'EPIPE') || hasCode(error, 'ERR_STREAM_DESTROYED')) {
    return { exitCode: exitCodes.readerGone, sentence: '', code: 'READER_GONE' }
  }
  // Without a region or credentials nothing was sent; the engine takes that for a passing failure.
  const aws = awsError(error) ?? unsent(error)
  if (aws !== undefined) return aws
  const code = codeOf(error)
  // An error that has no name with us or the service is a fault: print all that is known about it.
  if (code === undefined) {
    return { exitCode: exitCodes.failed, sentence: faultOf(error), code: 'FAULT' }
  }
  const doubts = doubtsOf(error)
  const sentence = doubts.outcome === undefined ? messageOf(error) : withDoubt(messageOf(error))
  return { exitCode: exitCodeOf(code), sentence, code, ...doubts }
}

/** The engine's message says so already; that of a broken connection does not. */
const withDoubt = (message: string): string =>
  /whether/.test(message) ? message : `${message}; it may have been done anyway`

const unsent = (error: unknown) =>
  error instanceof Error && !(error instanceof Failure) && isUnsent(error.cause)
    ? awsError(error.cause)
    : undefined

function causeOf({ cause }: Failure): Pick<Explained, 'outcome' | 'retryable'> {
  return cause === undefined ? {} : doubtsOf(cause)
}

function doubtsOf(error: unknown): Pick<Explained, 'outcome' | 'retryable'> {
  const { outcome, retryable } = error as { outcome?: unknown; retryable?: unknown }
  return {
    ...(outcome === 'unknown' && { outcome }),
    ...(typeof retryable === 'boolean' && { retryable }),
  }
}

/** The engine's errors and the client's have codes from one table. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('retryable' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

export function exitCodeOf(code: string): ExitCode {
  const row = Object.hasOwn(errorTable, code) ? errorTable[code as HttpErrorCode] : undefined
  return exceptions[code] ?? exitCodeOfStatus[row?.status ?? 0] ?? exitCodes.failed
}

function faultOf(error: unknown): string {
  const shown = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `Cannot go on because of a fault in the command line: ${shown}`
}
