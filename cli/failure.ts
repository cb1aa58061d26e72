import { type ExitCode, exitCodes } from './exit-codes.ts'

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
