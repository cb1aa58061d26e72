// Credentials as the SDK's providers give them, kept for as long as they are good.

import { withinDeadline } from '../answer-deadline.ts'

export type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Without it, they are valid until AWS refuses them. */
  readonly expiration?: Date | undefined
}

/** Any provider of the SDK is one. */
export type CredentialsProvider = () => Promise<Credentials>

/** As early before their end as the SDK renews them: a refresh may take several attempts. */
const RENEW_BEFORE_MS = 300_000

/** The SDK's chains ask several services in turn, each for a second or more. */
const PROVIDER_TIMEOUT_MS = 10_000

export class KeptCredentials {
  readonly #provider: CredentialsProvider
  readonly #nowMs: () => number
  #kept: Credentials | undefined
  #coming: Promise<Credentials> | undefined
  #asked = 0
  /** The latest request for credentials that was answered. */
  #answered = 0

  constructor(provider: CredentialsProvider, nowMs: () => number) {
    this.#provider = provider
    this.#nowMs = nowMs
  }

  /** Returns them at once if we have them, because a promise costs a turn. */
  get(): Credentials | Promise<Credentials> {
    const kept = this.#kept
    const leftMs = this.#leftMs(kept)
    if (kept !== undefined && leftMs > RENEW_BEFORE_MS) return kept
    // All callers who ask meanwhile share one request.
    this.#coming ??= this.#renew().finally(() => {
      this.#coming = undefined
    })
    if (kept === undefined || leftMs <= 0) return this.#coming
    // Nobody may be waiting for it, so ignore a failure: the next request asks again.
    this.#coming.catch(() => {})
    return kept
  }

  /** AWS no longer accepts them, whatever their expiration said. */
  forget(refused: Credentials): void {
    if (this.#kept === refused) this.#kept = undefined
  }

  async #renew(): Promise<Credentials> {
    try {
      return await withinDeadline(PROVIDER_TIMEOUT_MS, () => this.#ask())
    } catch (error) {
      throw new CredentialsError(error)
    }
  }

  /** Keeps an answer even if nobody waits for it any more, unless a later request has been answered. */
  async #ask(): Promise<Credentials> {
    this.#asked += 1
    const question = this.#asked
    const credentials = checked(await this.#provider())
    if (question > this.#answered) {
      this.#answered = question
      this.#kept = credentials
    }
    return credentials
  }

  #leftMs(credentials: Credentials | undefined): number {
    const end = credentials?.expiration
    return end ? end.getTime() - this.#nowMs() : Number.POSITIVE_INFINITY
  }
}

/** Has the name of the SDK's own error: whatever went wrong, nothing was sent. */
class CredentialsError extends Error {
  override readonly name = 'CredentialsProviderError'

  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : `the provider threw ${String(cause)}`
    super(`Cannot sign requests because ${why}`, { cause })
  }
}

/** In JavaScript, a provider may return anything. */
function checked(given: Partial<Credentials> | undefined): Credentials {
  const { accessKeyId, secretAccessKey, expiration } = given ?? {}
  if (!accessKeyId || !secretAccessKey) {
    throw new Error('the provider gave no `accessKeyId` and `secretAccessKey`')
  }
  if (expiration && typeof expiration.getTime !== 'function') {
    throw new Error('the provider gave an `expiration` that is no Date')
  }
  return given as Credentials
}

/** A Lambda's credentials are in its environment, and outlive it. */
export const environmentCredentials: CredentialsProvider = async () => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken }
  const missing = Object.entries({
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  }).flatMap(([name, value]) => (value ? [] : [name]))
  throw new Error(
    `the environment has no ${missing.join(' and no ')}; outside of Lambda, give \`credentials\`, for example ` +
      'a provider of the SDK',
  )
}
