// Credentials as the SDK's providers give them, kept for as long as they are good.

export type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Without one they are good until AWS says otherwise. */
  readonly expiration?: Date | undefined
}

/** Any provider of the SDK is one. */
export type CredentialsProvider = () => Promise<Credentials>

/** As long before their end as the SDK does it: a refresh may take several attempts. */
const RENEW_BEFORE_MS = 300_000

export class KeptCredentials {
  readonly #provider: CredentialsProvider
  readonly #nowMs: () => number
  #kept: Credentials | undefined
  #coming: Promise<Credentials> | undefined

  constructor(provider: CredentialsProvider, nowMs: () => number) {
    this.#provider = provider
    this.#nowMs = nowMs
  }

  /** At once where they are at hand: a promise costs a turn. */
  get(): Credentials | Promise<Credentials> {
    const kept = this.#kept
    const leftMs = this.#leftMs(kept)
    if (kept !== undefined && leftMs > RENEW_BEFORE_MS) return kept
    // One question for all who ask meanwhile.
    this.#coming ??= this.#renew().finally(() => {
      this.#coming = undefined
    })
    return this.#coming
  }

  /** AWS takes them no more, whatever their end was said to be. */
  forget(refused: Credentials): void {
    if (this.#kept === refused) this.#kept = undefined
  }

  async #renew(): Promise<Credentials> {
    try {
      this.#kept = await this.#provider()
      return this.#kept
    } catch (error) {
      const kept = this.#kept
      if (kept !== undefined && this.#leftMs(kept) > 0) return kept
      throw new CredentialsError(error)
    }
  }

  #leftMs(credentials: Credentials | undefined): number {
    const end = credentials?.expiration
    return end === undefined ? Number.POSITIVE_INFINITY : end.getTime() - this.#nowMs()
  }
}

/** Named as the SDK's own: nothing was sent, whatever went wrong. */
class CredentialsError extends Error {
  override readonly name = 'CredentialsProviderError'

  constructor(cause: unknown) {
    super(`Cannot sign requests because ${(cause as Error).message}`, { cause })
  }
}

/** Where a Lambda finds them; they outlive it. */
export const environmentCredentials: CredentialsProvider = async () => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env
  if (accessKeyId && secretAccessKey) {
    return {
      accessKeyId,
      secretAccessKey,
      sessionToken: process.env.AWS_SESSION_TOKEN || undefined,
    }
  }
  throw new Error(
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the environment; outside of Lambda, give ' +
      '`credentials`, for example a provider of the SDK',
  )
}
