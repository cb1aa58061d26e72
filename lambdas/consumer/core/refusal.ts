import { lostLockCodes } from '../../foundation/shared/hold-lock.ts'

/** What the service said no with: an error of the engine, or of the client, which tells the same. */
type Refusal = Error & {
  readonly code: string
  readonly retryable: boolean
  readonly outcome: 'unknown' | undefined
  readonly retryAfterMs: number | undefined
}

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && 'code' in error && 'retryable' in error && 'outcome' in error

export const refusalIn = (error: unknown): Refusal | undefined =>
  isRefusal(error) ? error : undefined

/** Worth another try: the store is busy or out of reach, or the answer was lost. */
export const isPassing = (error: unknown): boolean =>
  isRefusal(error) && (error.retryable || error.outcome === 'unknown')

/** A fault of the service may pass too: for work that goes on by itself. */
export const mayPass = (error: unknown): boolean =>
  isPassing(error) || refusalIn(error)?.code === 'INTERNAL'

/** The lock is over: its items belong to the queue again, or are settled. */
export const isLockLost = (error: unknown): boolean =>
  isRefusal(error) && lostLockCodes.some((code) => code === error.code)
