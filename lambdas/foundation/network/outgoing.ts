// Sends a request of the SDK as a request of Node.

import type { ClientRequest } from 'node:http'
import { Readable } from 'node:stream'
import type { Sockets } from './sockets.ts'

/** What the SDK hands to its request handler. */
export type SdkRequest = {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number | undefined
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string | readonly string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export function send({ agent, request }: Sockets, sdkRequest: SdkRequest): ClientRequest {
  const body = bodyOf(sdkRequest)
  const { hostname, port, method } = sdkRequest
  const outgoing = request({
    agent,
    // Without the brackets of an IPv6 address.
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port,
    method,
    path: pathOf(sdkRequest),
    headers: headersOf(sdkRequest),
  })
  if (!(body instanceof Readable)) return outgoing.end(body)
  body.once('error', (error) => outgoing.destroy(error))
  return body.pipe(outgoing)
}

function bodyOf({ body }: SdkRequest): string | Uint8Array | Readable | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable) {
    return body
  }
  throw new TypeError('Cannot send a body that is neither text nor bytes nor a stream of Node')
}

function pathOf({ path, query }: SdkRequest): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === null ? encode(name) : [value].flat().map((one) => `${encode(name)}=${encode(one)}`),
  )
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

/** As AWS signs it. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)

/**
 * With a large body, S3's client first asks whether it may send it (`Expect: 100-continue`). Our bodies are a
 * few megabytes, for a bucket that takes them: sending them at once saves a round trip. The header is never
 * part of the signature.
 */
function headersOf({ headers }: SdkRequest): Readonly<Record<string, string>> {
  if (!('Expect' in headers)) return headers
  const { Expect: _, ...others } = headers
  return others
}
