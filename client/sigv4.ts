// AWS Signature Version 4 with WebCrypto, for the service `execute-api`.

import { present } from '../lambdas/foundation/shared/present.ts'
import type { UnsignedRequest } from './auth.ts'

export type AwsCredentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

type SigningRequest = UnsignedRequest & {
  readonly credentials: AwsCredentials
  readonly region: string
  readonly nowMs: number
  readonly service?: string
}

const algorithm = 'AWS4-HMAC-SHA256'

/** The request's headers and those that sign it. The signature covers all of them, and the body. */
export async function signedHeaders(request: SigningRequest): Promise<Record<string, string>> {
  const { method, url, credentials, region, nowMs, service = 'execute-api' } = request
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const time = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
  const date = time.slice(0, 8)
  const bodyHash = hex(await sha256(request.body ?? ''))
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-date': time,
    ...present({ 'x-amz-security-token': sessionToken }),
  }
  // We sign `host` but do not set it: fetch does that, and a page may not.
  const signed = Object.entries({ ...headers, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replaceAll(/\s+/g, ' ')] as const)
    .sort(byCodeUnits)
  const names = signed.map(([name]) => name).join(';')

  const canonical = [
    method,
    canonicalPath(url),
    canonicalQuery(url),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = [algorithm, time, scope, hex(await sha256(canonical))].join('\n')

  let key: Bytes = encode(`AWS4${secretAccessKey}`)
  for (const part of [date, region, service, 'aws4_request']) key = await hmac(key, part)
  const signature = hex(await hmac(key, text))
  const credential = `${accessKeyId}/${scope}`
  const authorization = `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`
  return { ...headers, authorization }
}

/** Each segment is encoded once more than in the request, as for every service but S3. */
const canonicalPath = (url: URL): string => url.pathname.split('/').map(escaped).join('/')

function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => [escaped(name), escaped(value)] as const)
    .sort(byCodeUnits)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

type Pair = readonly [string, string]

function byCodeUnits([a, x]: Pair, [b, y]: Pair): number {
  if (a !== b) return a < b ? -1 : 1
  return x < y ? -1 : x > y ? 1 : 0
}

/** RFC 3986: `encodeURIComponent` leaves five characters that it reserves. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`,
  )

type Bytes = Uint8Array<ArrayBuffer>

const encode = (text: string): Bytes => new TextEncoder().encode(text)

const sha256 = async (text: string): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', encode(text)))

async function hmac(key: Bytes, text: string): Promise<Bytes> {
  const hash = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, hash, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encode(text)))
}

const hex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
