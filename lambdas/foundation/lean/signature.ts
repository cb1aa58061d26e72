// Signature Version 4 of a request to DynamoDB, or to another service that takes a POST to one path whose headers
// are always the same.

import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { Credentials } from './credentials.ts'

export type Signed = Readonly<Record<string, string>>

/** What differs between services; `header` says what the request is. */
export type SignedService = {
  readonly name: string
  readonly contentType: string
  readonly header: `x-amz-${string}`
}

const dynamodb: SignedService = {
  name: 'dynamodb',
  contentType: 'application/x-amz-json-1.0',
  header: 'x-amz-target',
}

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

type SigningKey = { readonly secret: string; readonly day: string; readonly key: KeyObject }

/** For the signature, the path must have no empty parts, and is encoded a second time. */
const canonical = (path: string): string =>
  path
    .replace(/\/+/g, '/')
    .split('/')
    .map((part) => encodeURIComponent(part).replace(/[!'()*]/g, escaped))
    .join('/')

/** What `encodeURIComponent` leaves as it is. */
const escaped = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase()}`

export class Signer {
  readonly #region: string
  readonly #host: string
  readonly #path: string
  readonly #service: SignedService
  /** The key takes four of a signature's five hashes, and changes only with the day and the secret. */
  #signingKey: SigningKey | undefined

  constructor(region: string, host: string, path: string, service: SignedService = dynamodb) {
    this.#region = region
    this.#service = service
    this.#host = host
    this.#path = canonical(path)
  }

  /** All headers of the request. */
  headers(kind: string, body: string, credentials: Credentials, nowMs: number): Signed {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = time.slice(0, 8)
    const headers: Record<string, string> = {
      'content-type': this.#service.contentType,
      host: this.#host,
      'x-amz-date': time,
      // Some providers give an empty token with keys that need none.
      ...(sessionToken && { 'x-amz-security-token': sessionToken }),
      [this.#service.header]: kind,
    }
    const sorted = Object.keys(headers).sort()
    const names = sorted.join(';')
    let request = `POST\n${this.#path}\n\n`
    for (const name of sorted) request += `${name}:${headers[name]}\n`
    request += `\n${names}\n${hash('sha256', body)}`
    const scope = `${day}/${this.#region}/${this.#service.name}/aws4_request`
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', request)}`
    const signature = createHmac('sha256', this.#keyOf(day, secretAccessKey)).update(text)
    headers.authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature.digest('hex')}`
    headers['content-length'] = String(Buffer.byteLength(body))
    headers['user-agent'] = 'pushpop'
    return headers
  }

  #keyOf(day: string, secret: string): KeyObject {
    const known = this.#signingKey
    if (known?.day === day && known.secret === secret) return known.key
    const ofRegion = hmac(hmac(`AWS4${secret}`, day), this.#region)
    // Keep it as a key object: from bytes, Node would make a new one for each signature.
    const key = createSecretKey(hmac(hmac(ofRegion, this.#service.name), 'aws4_request'))
    this.#signingKey = { secret, day, key }
    return key
  }
}
