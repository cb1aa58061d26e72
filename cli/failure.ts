// Every way in which a run can end: the exit codes, failures that a person can act on, and how any other error (the
// engine's, the client's, AWS's, a closed pipe) becomes a sentence, a code and an exit code.

import { errorTable, type HttpErrorCode } from '../lambdas/http/answer.ts'

/** The outcomes that a script can tell apart. docs/cli.md documents these numbers; never change one. */
export const exitCodes = {
  done: 0,
  /** Something failed here, in the store, on the network or on the disk: it may work later. */
  failed: 1,
  /** The command line or the input is wrong; it will never work like this. */
  wrongUsage: 2,
  /** Nothing to pop or to show. */
  nothingThere: 3,
  /** The request was right and was refused as things stand: locked, full, expired, not allowed. */
  refused: 4,
  /** The doctor found something that is still wrong, or verify found a broken promise. */
  findings: 5,
  /** A place in a rate limit's line, whose turn is still to come. */
  notYet: 6,
  /** As shells count: 128 and SIGINT. */
  interrupted: 130,
  /** As shells count: 128 and SIGPIPE. The reader of our output has gone. */
  readerGone: 141,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A failure that a person can act on: one sentence, and its exit code. */
export class Failure extends Error {
  readonly exitCode: ExitCode
  readonly code: string

  constructor(
    exitCode: ExitCode,
    sentence: string,
    details: { readonly code?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(sentence, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'Failure'
    this.exitCode = exitCode
    this.code = details.code ?? standardCodes[exitCode] ?? 'FAILED'
  }
}

const standardCodes: Partial<Record<ExitCode, string>> = {
  [exitCodes.wrongUsage]: 'WRONG_USAGE',
  [exitCodes.nothingThere]: 'NOTHING_THERE',
  [exitCodes.refused]: 'REFUSED',
  [exitCodes.interrupted]: 'INTERRUPTED',
}

export const wrongUsage = (sentence: string): Failure => new Failure(exitCodes.wrongUsage, sentence)

export const failed = (sentence: string, cause?: unknown): Failure =>
  new Failure(exitCodes.failed, sentence, { cause })

export const interrupted = (sentence: string): Failure =>
  new Failure(exitCodes.interrupted, sentence)

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** The error's own sentence, unless it comes from a store's address where nobody listens any more. */
export function sentenceOf(error: unknown): string {
  const address = whereNobodyListens(error)
  if (address === undefined) return messageOf(error)
  return (
    `Cannot reach the store at ${address} because nothing answers there; if it was a stack on this machine, ` +
    'start it and source its --env file again'
  )
}

const ofStores = ['STORE_UNAVAILABLE', 'SEGMENT_UNAVAILABLE']

function whereNobodyListens(error: unknown): string | undefined {
  if (!ofStores.includes(codeOf(error) ?? '') || doubtsOf(error).outcome !== undefined) return
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    // A name with several addresses was tried at each of them.
    const [one] = cause instanceof AggregateError ? cause.errors : [cause]
    if (!hasCode(one, 'ECONNREFUSED')) continue
    const { address, port } = one as { address?: string; port?: number }
    if (address !== undefined)
      return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  }
  return
}

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
  const sentence = doubts.outcome === undefined ? sentenceOf(error) : withDoubt(messageOf(error))
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

type Told = { readonly exitCode: ExitCode; readonly sentence: string; readonly code: string }

const notThere = new Set(['ResourceNotFoundException', 'NoSuchBucket'])
const notAllowed = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
])

/**
 * AWS errors that the engine passes on: the request is wrong or not allowed, and the person can do something about
 * it. We tell them apart by name, never by text, except for a missing region, for which the SDK throws a plain error.
 */
function awsError(error: unknown): Told | undefined {
  if (!(error instanceof Error)) return undefined
  const { name, message } = error
  if (isRegionMissing(error)) {
    const sentence = 'Cannot tell the AWS region; give --region, or set AWS_REGION'
    return { exitCode: exitCodes.wrongUsage, code: 'REGION_MISSING', sentence }
  }
  if (name === 'CredentialsProviderError') {
    const sentence = `Cannot find AWS credentials: ${oneLine(message)}`
    return { exitCode: exitCodes.refused, code: name, sentence }
  }
  if (!('$metadata' in error)) return undefined
  if (notThere.has(name)) {
    const sentence = 'There is no such table or bucket here; check --table, --bucket and --region'
    return { exitCode: exitCodes.wrongUsage, code: name, sentence }
  }
  const exitCode = notAllowed.has(name) ? exitCodes.refused : exitCodes.failed
  return { exitCode, code: name, sentence: `AWS refused it (${name}): ${oneLine(message)}` }
}

const isRegionMissing = (error: unknown): boolean =>
  error instanceof Error && /^Region (is missing|not accepted)/.test(error.message)

const isUnsent = (error: unknown): boolean =>
  isRegionMissing(error) || (error instanceof Error && error.name === 'CredentialsProviderError')

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
