import { type Auth, authoriser } from './auth.ts'
import { type RetryOptions, retryPolicy } from './retry.ts'
import { type Send, sender, TIMEOUT_MS } from './transport.ts'

export type ClientOptions = {
  /** The `Url` that the deployment prints, or http://localhost:8000. */
  readonly url: string | URL
  readonly auth?: Auth
  readonly fetch?: typeof globalThis.fetch
  /** For one answer. Default 31,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions
}

/** The one function that sends every verb. */
export function connect(options: ClientOptions): { readonly base: URL; readonly send: Send } {
  const base = new URL(options.url)
  const { auth = { kind: 'none' }, timeoutMs = TIMEOUT_MS } = options
  const send = sender({
    base,
    // Looked up for each call, so that replacing the global `fetch` has an effect.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    authorise: authoriser(auth, base, Date.now),
    timeoutMs,
    policy: retryPolicy(options.retry),
  })
  return { base, send }
}
