// The stack listens to this machine alone, and a browser on this machine runs anybody's pages. A page
// may send some requests to any port without asking first (a form's POST, an image's GET), and all of
// them, and read the answers, once its own name has been made to mean 127.0.0.1 (DNS rebinding). The
// browser gives both away: `Host` is the page's name then, and `Origin` says where a page is from.
// Programs send neither a foreign Host nor an Origin.

import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, isLoopbackOrigin, readHost } from './loopback.ts'

export type Received = {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** Why a request is refused, in a sentence that says what to do; nothing for one that is served. */
export function foreignRequest(
  { method, headers }: Received,
  port: number,
  mayCall: (origin: string) => boolean,
): string | undefined {
  const { host = '', origin } = headers
  const asked = readHost(host)
  if (asked === undefined || asked.port !== port || !isLoopback(asked.name)) {
    return refusal(`its Host header is ${JSON.stringify(host)}`, `call http://localhost:${port}`)
  }
  if (origin !== undefined) {
    if (isLoopbackOrigin(origin) || mayCall(origin)) return undefined
    return refusal(
      `it is of a page of ${JSON.stringify(origin)}, which the CORS settings of the API do not name`,
      'name it there (PushPop calls this setting corsOrigins), or serve the page from localhost',
    )
  }
  if (headers['sec-fetch-site'] !== 'cross-site' || isLook(method, headers)) return undefined
  return refusal(
    'a page of another site sent it (Sec-Fetch-Site: cross-site) and does not say which',
    'open the address itself, or call it by fetch in mode "cors"',
  )
}

/**
 * Somebody followed a link: the answer is shown to them alone, and the page that has the link cannot
 * read it. A GET changes nothing.
 */
const isLook = (method: string, headers: IncomingHttpHeaders): boolean =>
  method === 'GET' &&
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document'

const refusal = (reason: string, instead: string): string =>
  `Cannot serve this request because ${reason}; ${instead}`
