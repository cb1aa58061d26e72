// The stack listens to this machine, and to this machine alone: every program here may call, and only web pages are
// checked.
//
// A browser on this machine runs pages from everywhere. A page may send some requests to any port without asking first
// (a form's POST, an image's GET). Once its name server answers 127.0.0.1 for the page's own name (DNS rebinding), it
// may send every request and read the answers. The browser tells us both times: `Origin` names the page's site, and
// after rebinding `Host` is the page's name. Programs send neither an Origin nor a foreign Host.

import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, isIPv4 } from 'node:net'
import { StartError } from './start-error.ts'

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

/**
 * Only the stack's own processes call the embedded S3 and the event buses. Both refuse every request that a
 * browser sends, wherever its page is from.
 */
export function isFromAPage({ host = '', ...headers }: IncomingHttpHeaders): boolean {
  const name = nameIn(host)
  return (
    name === undefined ||
    !isLoopback(name) ||
    headers.origin !== undefined ||
    headers['sec-fetch-site'] !== undefined
  )
}

export const NOT_FOR_PAGES =
  'This address is for the processes of the local stack, not for web pages'

/**
 * Names and addresses that every program takes for this machine. Not the names below localhost: some
 * browsers and Node ask a name server for them.
 */
function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower === 'localhost' || lower === '[::1]') return true
  return isIPv4(lower) && lower.startsWith('127.')
}

/** Of a Host header: `localhost:8000`, `[::1]`. */
const nameIn = (header: string): string | undefined =>
  /^([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.exec(header)?.[1]

function isLoopbackOrigin(origin: string): boolean {
  const url = URL.parse(origin)
  // Nothing but the origin: Node joins two such headers with a comma, which parses as an odd name.
  return url !== null && url.origin === origin && isLoopback(url.hostname)
}

type Listener = {
  readonly port: number
  /** Takes no more connections, and ends those that are left when the time is over. */
  close(graceMs: number): Promise<void>
}

/** API Gateway's limit for the request line and all headers. */
const HEADER_BYTES_MAX = 10_240
/** The whole request has to arrive within the time that API Gateway gives to answer it. */
const REQUEST_MS_MAX = 30_000
const HEADERS_MS_MAX = 10_000
/** Longer than clients keep a connection, so that we never close one that a client is about to use. */
export const KEEP_ALIVE_MS = 75_000
/** Each is a file handle; a process has 1,024 of them on many systems. */
const CONNECTIONS_MAX = 512

const attemptsMax = 5

/** `apiName` is for the sentence if the port is taken: the ports of all APIs but the first follow from it. */
export async function listen(
  port: number,
  onRequest: RequestListener,
  apiName?: string,
): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    const first = await listenOn('127.0.0.1', port, onRequest, apiName)
    const { port: taken } = first.address() as AddressInfo
    try {
      // `localhost` means both addresses, and each client chooses which one to try first.
      const second = await listenOn('::1', taken, onRequest, apiName)
      return listenerOf(taken, [first, second])
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return listenerOf(taken, [first])
      first.close()
      // The caller wants any free port, and this one is free at only one of the two addresses.
      if (code === 'EADDRINUSE' && port === 0 && attempt < attemptsMax) continue
      throw error
    }
  }
}

function listenOn(
  host: string,
  port: number,
  onRequest: RequestListener,
  apiName: string | undefined,
): Promise<Server> {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: HEADERS_MS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    onRequest,
  )
  server.maxConnections = CONNECTIONS_MAX
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const status = statuses[error.code ?? ''] ?? '400 Bad Request'
    const body = JSON.stringify({ message: status.slice(4) })
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  })
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, port, apiName)))
    server.listen(port, host, () => resolve(server))
  })
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function explained(error: NodeJS.ErrnoException, port: number, apiName: string | undefined): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'something else listens there',
    EACCES: 'this user may not use it',
  }
  const reason = reasons[error.code ?? '']
  if (!reason) return error
  const sentence =
    apiName === undefined
      ? `Cannot listen on port ${port} because ${reason}; choose another with --port`
      : `Cannot listen on port ${port} for the API ${apiName} because ${reason}; the APIs have ports in a ` +
        'row, whose first you choose with --port'
  return Object.assign(new StartError(sentence), { code: error.code })
}

function listenerOf(port: number, servers: readonly Server[]): Listener {
  return {
    port,
    async close(graceMs) {
      const closed = Promise.all(
        servers.map((server) => new Promise((resolve) => server.close(resolve))),
      )
      const impatience = setTimeout(() => {
        for (const server of servers) server.closeAllConnections()
      }, graceMs)
      await closed
      clearTimeout(impatience)
    },
  }
}

/** A server for the processes of the stack, at a free port. */
export type LocalServer = { readonly endpoint: string; stop(): void }

type ServedRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** `keepAliveTimeout`: Node's own is some seconds, after which a client's next request may find the connection gone. */
export async function serveProcesses(
  serve: ServedRequest,
  options: Pick<ServerOptions, 'keepAliveTimeout'> = {},
): Promise<LocalServer> {
  const server = createServer(options, (request, response) => {
    // A process that was killed in the middle of its request must not take the stack along.
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Nothing if the body is too long: it is read to its end all the same. */
export async function readText(
  request: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
  }
  return bytes <= bytesMax ? Buffer.concat(chunks).toString('utf8') : undefined
}
