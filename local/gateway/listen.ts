// A port of this machine, and of this machine alone: every program here may call, and only web pages are
// checked (local/foreign-pages).

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StartError } from '../start-error.ts'

export type Listener = {
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
const KEEP_ALIVE_MS = 75_000
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
