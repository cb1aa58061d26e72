// From a client's options to the one function that sends every call. The command line uses it too, for calls whose
// answers it prints as they come.

import { checkOptions, type Names } from '../shared/options.ts'
import { authoriser } from './auth.ts'
import type { ClientOptions } from './queue.ts'
import { shown } from './queue-calls.ts'
import { retryPolicy } from './retry.ts'
import { type Send, sender, TIMEOUT_MS } from './transport.ts'

const names: Names<ClientOptions> = {
  url: 0,
  auth: 0,
  fetch: 0,
  timeoutMs: 0,
  retry: 0,
  linger: 0,
}

/** The one function that sends every verb. */
export function connect(options: ClientOptions): { readonly base: URL; readonly send: Send } {
  const base = baseOf(options?.url)
  checkOptions(options, names)
  const { auth = { kind: 'none' }, timeoutMs = TIMEOUT_MS } = options
  const send = sender({
    base,
    // Look it up for each call, so that replacing the global `fetch` has an effect.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    authorise: authoriser(auth, base, Date.now),
    timeoutMs,
    policy: retryPolicy(options.retry),
  })
  return { base, send }
}

/** `localhost:8000` is a valid URL of the scheme `localhost:`, and fetch's error about it is no help. */
function baseOf(url: string | URL | undefined): URL {
  if (url === undefined) {
    throw new TypeError(
      'The client needs url: the Url that the deployment prints, or http://localhost:8000',
    )
  }
  const text = String(url)
  const base = URL.canParse(text) ? new URL(text) : undefined
  if (base?.protocol === 'http:' || base?.protocol === 'https:') return base
  const host = /^(?:[a-z]+:\/\/)?([\w.-]+(?::\d+)?(?:\/.*)?)$/i.exec(text)?.[1]
  const scheme = /^(localhost|127\.|\d+$)/.test(host ?? '') ? 'http' : 'https'
  const instead =
    host === undefined ? 'an address such as http://localhost:8000' : `${scheme}://${host}`
  throw new TypeError(
    `Cannot use ${shown(url)} as the url because it does not begin with http:// or https://; write ${instead}`,
  )
}
