// The stack listens to this machine alone, but a browser on this machine runs pages from everywhere. A
// page may send some requests to any port without asking first (a form's POST, an image's GET). Once its
// name server answers 127.0.0.1 for the page's own name (DNS rebinding), it may send every request and
// read the answers. The browser tells us both times: `Origin` names the page's site, and after rebinding
// `Host` is the page's name. Programs send neither an Origin nor a foreign Host.

import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, isLoopbackOrigin, nameIn } from './loopback.ts'

type Received = {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** Why we refuse a request, in a sentence that says what to do instead; nothing if we serve it. */
export function foreignRequest(
  { method, headers }: Received,
  port: number,
  mayCall: (origin: string) => boolean,
): string | undefined {
  const { host = '', origin } = headers
  const name = nameIn(host)
  // Whatever the port: it may be forwarded to ours (ssh -L, a container), and a rebound name gives itself away.
  if (name === undefined || !isLoopback(name)) {
    return refusal(`its Host header is ${JSON.stringify(host)}`, `call http://localhost:${port}`)
  }
  if (origin !== undefined) {
    if (isLoopbackOrigin(origin) || mayCall(origin)) return undefined
    return refusal(
      `it is of a page of ${JSON.stringify(origin)}, which the CORS settings of the API do not name`,
      'name it there (PushPop calls this setting corsOrigins)',
    )
  }
  if (headers['sec-fetch-site'] !== 'cross-site' || isLook(method, headers)) return undefined
  return refusal(
    'a page of another site sent it (Sec-Fetch-Site: cross-site) and does not say which',
    'open the address itself, or call it by fetch in mode "cors"',
  )
}

/**
 * The user followed a link. The browser shows the answer to the user, the page with the link cannot read
 * it, and a GET changes nothing.
 */
const isLook = (method: string, headers: IncomingHttpHeaders): boolean =>
  method === 'GET' &&
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document'

const refusal = (reason: string, instead: string): string =>
  `Cannot serve this request because ${reason}; ${instead}`
