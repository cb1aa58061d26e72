// How a request proves who sends it: by a token, or by AWS Signature Version 4 with WebCrypto, for the service
// `execute-api`; and to which addresses the client may send either.

import { checkFields, checkOptions, type Names } from '../shared/options.ts'
import { present } from '../shared/wire.ts'
import { PushPopError } from './errors.ts'

export type AwsCredentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

export type Provided<T> = T | (() => T | Promise<T>)

/** How a request proves who sends it. We call a function for each request; it may cache. */
export type Auth =
  | {
      readonly kind: 'iam'
      readonly credentials: Provided<AwsCredentials>
      /** Default: taken from `….execute-api.REGION.amazonaws.com`. */
      readonly region?: string | undefined
    }
  | { readonly kind: 'token'; readonly token: Provided<string> }
  | { readonly kind: 'none' }

type UnsignedRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Returns a request's headers together with those that prove who sends it. */
export type Authorise = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>

export function authoriser(auth: Auth, base: URL, nowMs: () => number): Authorise {
  checkAuth(auth)
  if (auth.kind !== 'none' && !isSafeForCredentials(base)) {
    throw new TypeError(`${cannotSendCredentials(base)}, or auth: { kind: 'none' }`)
  }
  switch (auth.kind) {
    case 'none':
      return async ({ headers }) => headers
    case 'token':
      return async ({ headers }) => {
        const token = await provided(auth.token, 'the token')
        return { ...headers, authorization: `Bearer ${token}` }
      }
    case 'iam': {
      const region = auth.region ?? regionOf(base.hostname)
      return async (request) => {
        const credentials = await provided(auth.credentials, 'the AWS credentials')
        return signedHeaders({ ...request, credentials, region, nowMs: nowMs() })
      }
    }
    default:
      throw auth satisfies never
  }
}

const executeApi = /\.execute-api\.([a-z0-9-]+)\.(amazonaws\.com(\.cn)?|api\.aws)$/

function regionOf(hostname: string): string {
  const region = executeApi.exec(hostname)?.[1]
  if (region !== undefined) return region
  throw new TypeError(
    `Cannot sign for ${hostname} because its name does not tell the AWS region: give auth.region (in a Lambda function, process.env.AWS_REGION)`,
  )
}

async function provided<T>(value: Provided<T>, what: string): Promise<T> {
  if (typeof value !== 'function') return value
  try {
    return await (value as () => T | Promise<T>)()
  } catch (cause) {
    if (cause instanceof PushPopError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    // A metadata service or an issuer may be away for a moment, which should not end the work of a consumer.
    const details = { cause, retryable: true }
    throw new PushPopError('UNAUTHORIZED', `Cannot get ${what}: ${reason}`, details)
  }
}

type OfKind<Kind extends Auth['kind']> = Extract<Auth, { readonly kind: Kind }>
const namesOf: { readonly [Kind in Auth['kind']]: Names<OfKind<Kind>> } = {
  none: { kind: 0 },
  token: { kind: 0, token: 0 },
  iam: { kind: 0, credentials: 0, region: 0 },
}

/** In JavaScript, no compiler checks this, and the service could only refuse `Bearer undefined` without a reason. */
function checkAuth(auth: Auth): void {
  checkFields(auth, undefined, 'auth')
  const names = Object.hasOwn(namesOf, auth.kind) ? namesOf[auth.kind] : undefined
  if (names === undefined) {
    throw new TypeError(
      `auth.kind must be 'iam', 'token' or 'none', and is ${JSON.stringify(auth.kind)}`,
    )
  }
  checkOptions(auth, names, 'auth')
  const [missing] =
    Object.entries({
      ...(auth.kind === 'token' && { token: auth.token }),
      ...(auth.kind === 'iam' && { credentials: auth.credentials }),
    }).find(([, value]) => value === undefined) ?? []
  if (missing !== undefined) {
    throw new TypeError(`auth.${missing} is missing, which auth.kind '${auth.kind}' needs`)
  }
}

/**
 * Whether this is certainly the same machine: localhost, 127.0.0.0/8 or ::1. Names such as `app.localhost` do not
 * count: browsers take them for this machine (RFC 6761), but Node asks a name server, which may return any address.
 * `URL` has already normalised `127.1`, `0x7f000001` and `LOCALHOST`.
 */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

/** On plain http, everybody on the way can read a token, or send a signed request again. */
export const isSafeForCredentials = (url: URL): boolean =>
  url.protocol === 'https:' || isLoopback(url)

/** The client and the command line each add how to call without credentials. */
export const cannotSendCredentials = ({ protocol, host }: URL): string =>
  `Cannot send credentials to ${protocol}//${host} because it is not https, and everybody on the way could ` +
  'read them; give its https address'

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
