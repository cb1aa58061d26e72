import { lostLockCodes } from '../../foundation/shared/hold-lock.ts'

/** The error with which the service refused: from the engine, or from the client, whose errors say the same. */
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

/** The SDK's names, and those of our lean client, for when there is nothing to sign a request with. */
const unsigned = new Set(['CredentialsProviderError', 'TokenProviderError', 'ProviderError'])

/** Nothing was sent. A metadata service or an issuer of credentials may be away for a moment. */
const isUnsigned = (error: unknown): boolean => error instanceof Error && unsigned.has(error.name)

/** Whether another try makes sense: the store is busy or out of reach, or the answer was lost. */
export const isPassing = (error: unknown): boolean =>
  isUnsigned(error) || (isRefusal(error) && (error.retryable || error.outcome === 'unknown'))

/** For work that goes on by itself, even a fault of the service may pass. */
export const mayPass = (error: unknown): boolean =>
  isPassing(error) || refusalIn(error)?.code === 'INTERNAL'

/** Whether the lock is over: its items are back in the queue, or settled. */
export const isLockLost = (error: unknown): boolean =>
  isRefusal(error) && lostLockCodes.some((code) => code === error.code)
