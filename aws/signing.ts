// What a request of ours to AWS needs before it can be sent: where to send it, by whose credentials, and its signature
// (version 4). Endpoints and providers are the SDK's, so that we end up where the SDK would.

import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import { withinDeadline } from './failures.ts'

type Headers = Readonly<Record<string, string>>

/** What differs between services; `header` says what the request is. */
type SignedService = {
  readonly name: string
  readonly contentType: string
  readonly header: `x-amz-${string}`
}

const dynamodbService: SignedService = {
  name: 'dynamodb',
  contentType: 'application/x-amz-json-1.0',
  header: 'x-amz-target',
}

type SigningKey = { readonly secret: string; readonly day: string; readonly key: KeyObject }

/** For one service that takes a POST to one path whose headers are always the same. */
export class Signer {
  readonly #region: string
  readonly #host: string
  readonly #path: string
  readonly #service: SignedService
  /** The key takes four of a signature's five hashes, and changes only with the day and the secret. */
  #signingKey: SigningKey | undefined

  constructor(
    region: string,
    host: string,
    path: string,
    service: SignedService = dynamodbService,
  ) {
    this.#region = region
    this.#service = service
    this.#host = host
    this.#path = canonical(path)
  }

  /** All headers of the request. */
  headers(kind: string, body: string, credentials: Credentials, nowMs: number): Headers {
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

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** As the SDK's providers give them. */
export type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Without it, they are valid until AWS refuses them. */
  readonly expiration?: Date | undefined
}

/** Any provider of the SDK is one. */
export type CredentialsProvider = () => Promise<Credentials>

/** A Lambda's credentials are in its environment, and outlive it. */
export const environmentCredentials: CredentialsProvider = async () => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken }
  const missing = Object.entries({
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  }).flatMap(([name, value]) => (value ? [] : [name]))
  throw new Error(
    `the environment has no ${missing.join(' and no ')}; outside of Lambda, give \`credentials\`, for example ` +
      'a provider of the SDK',
  )
}

/** As early before their end as the SDK renews them: a refresh may take several attempts. */
const RENEW_BEFORE_MS = 300_000

/** The SDK's chains ask several services in turn, each for a second or more. */
const PROVIDER_TIMEOUT_MS = 10_000

/** Keeps credentials for as long as they are good. */
export class KeptCredentials {
  readonly #provider: CredentialsProvider
  readonly #nowMs: () => number
  #kept: Credentials | undefined
  #coming: Promise<Credentials> | undefined
  #asked = 0
  /** The latest request for credentials that was answered. */
  #answered = 0

  constructor(provider: CredentialsProvider, nowMs: () => number) {
    this.#provider = provider
    this.#nowMs = nowMs
  }

  /** Returns them at once if we have them, because a promise costs a turn. */
  get(): Credentials | Promise<Credentials> {
    const kept = this.#kept
    const leftMs = this.#leftMs(kept)
    if (kept !== undefined && leftMs > RENEW_BEFORE_MS) return kept
    // All callers who ask meanwhile share one request.
    this.#coming ??= this.#renew().finally(() => {
      this.#coming = undefined
    })
    if (kept === undefined || leftMs <= 0) return this.#coming
    // Nobody may be waiting for it, so ignore a failure: the next request asks again.
    this.#coming.catch(() => {})
    return kept
  }

  /** AWS no longer accepts them, whatever their expiration said. */
  forget(refused: Credentials): void {
    if (this.#kept === refused) this.#kept = undefined
  }

  async #renew(): Promise<Credentials> {
    try {
      return await withinDeadline(PROVIDER_TIMEOUT_MS, () => this.#ask())
    } catch (error) {
      throw new CredentialsError(error)
    }
  }

  /** Keeps an answer even if nobody waits for it any more, unless a later request has been answered. */
  async #ask(): Promise<Credentials> {
    this.#asked += 1
    const question = this.#asked
    const credentials = checked(await this.#provider())
    if (question > this.#answered) {
      this.#answered = question
      this.#kept = credentials
    }
    return credentials
  }

  #leftMs(credentials: Credentials | undefined): number {
    const end = credentials?.expiration
    return end ? end.getTime() - this.#nowMs() : Number.POSITIVE_INFINITY
  }
}

/** Has the name of the SDK's own error: whatever went wrong, nothing was sent. */
class CredentialsError extends Error {
  override readonly name = 'CredentialsProviderError'

  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : `the provider threw ${String(cause)}`
    super(`Cannot sign requests because ${why}`, { cause })
  }
}

/** In JavaScript, a provider may return anything. */
function checked(given: Partial<Credentials> | undefined): Credentials {
  const { accessKeyId, secretAccessKey, expiration } = given ?? {}
  if (!accessKeyId || !secretAccessKey) {
    throw new Error('the provider gave no `accessKeyId` and `secretAccessKey`')
  }
  if (expiration && typeof expiration.getTime !== 'function') {
    throw new Error('the provider gave an `expiration` that is no Date')
  }
  return given as Credentials
}

type Environment = Readonly<Record<string, string | undefined>>

type Partition = { readonly regions: RegExp; readonly suffix: string; readonly dualStack: string }

const aws: Partition = { regions: /^/, suffix: 'amazonaws.com', dualStack: 'api.aws' }
/** There, DynamoDB's FIPS endpoints are its plain ones. */
const usGov: Partition = { ...aws, regions: /^us-gov-/ }

const partitions: readonly Partition[] = [
  usGov,
  {
    regions: /^cn-/,
    suffix: 'amazonaws.com.cn',
    dualStack: 'api.amazonwebservices.com.cn',
  },
  { regions: /^eusc-/, suffix: 'amazonaws.eu', dualStack: 'api.amazonwebservices.eu' },
  { regions: /^us-iso-/, suffix: 'c2s.ic.gov', dualStack: 'api.aws.ic.gov' },
  { regions: /^us-isob-/, suffix: 'sc2s.sgov.gov', dualStack: 'api.aws.scloud' },
  { regions: /^eu-isoe-/, suffix: 'cloud.adc-e.uk', dualStack: 'api.cloud-aws.adc-e.uk' },
  { regions: /^us-isof-/, suffix: 'csp.hci.ic.gov', dualStack: 'api.aws.hci.ic.gov' },
  aws,
]

type Service = {
  readonly host: string
  readonly variable: string
}

const dynamodb: Service = {
  host: 'dynamodb',
  variable: 'AWS_ENDPOINT_URL_DYNAMODB',
}
export const lambda: Service = {
  host: 'lambda',
  variable: 'AWS_ENDPOINT_URL_LAMBDA',
}

type Endpoint = {
  readonly url: URL
  /** The region that requests are signed for. */
  readonly region: string
}

/**
 * The endpoint `named`, or the one from the SDK's environment variables, or the service's own in the region, by the
 * SDK's rules: a test compares the two for every region. We refuse account-based endpoints, because we
 * do not know our account.
 */
export function endpointOf(
  namedRegion: string,
  environment: Environment,
  named?: string,
  service = dynamodb,
): Endpoint {
  const given = named ?? configured(environment, service)
  const region = realRegion(namedRegion)
  const fips = region !== namedRegion || isOn(environment, 'AWS_USE_FIPS_ENDPOINT')
  const dualStack = isOn(environment, 'AWS_USE_DUALSTACK_ENDPOINT')
  if (given !== undefined) {
    if (fips || dualStack) throw cannot('an endpoint is given as well as FIPS or dual-stack')
    return { url: urlOf(given), region }
  }
  if (environment.AWS_ACCOUNT_ID_ENDPOINT_MODE === 'required') {
    throw cannot('AWS_ACCOUNT_ID_ENDPOINT_MODE is "required"')
  }
  if (!/^[a-z0-9-]+$/i.test(region)) throw cannot(`"${region}" is no region`)
  if (region === 'local') {
    if (fips || dualStack) throw cannot('the region "local" has neither FIPS nor dual-stack')
    // DynamoDB local keeps the tables of each region apart: these are the SDK's.
    return { url: new URL('http://localhost:8000'), region: 'us-east-1' }
  }
  const partition = partitions.find(({ regions }) => regions.test(region)) ?? aws
  const isPlain = service === dynamodb && partition === usGov && !dualStack
  const prefix = fips && !isPlain ? `${service.host}-fips` : service.host
  const suffix = dualStack ? partition.dualStack : partition.suffix
  return { url: new URL(`https://${prefix}.${region}.${suffix}`), region }
}

function configured(environment: Environment, { variable }: Service): string | undefined {
  if (isOn(environment, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')) return undefined
  return environment[variable] || environment.AWS_ENDPOINT_URL || undefined
}

/** `us-east-1-fips` and `fips-us-east-1` are old names for FIPS in us-east-1. */
const realRegion = (region: string): string => region.replace(/^fips-|-fips$/g, '')

function urlOf(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  // "localhost:8000" is a URL too: its protocol is "localhost:".
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw cannot(`the endpoint "${endpoint}" is no URL such as http://localhost:8000`)
}

function isOn(environment: Environment, name: string): boolean {
  const value = environment[name]?.toLowerCase()
  if (value === undefined || value === '' || value === 'false') return false
  if (value === 'true') return true
  throw cannot(`${name} is "${value}", and not "true" or "false"`)
}

const cannot = (why: string): Error => new Error(`Cannot tell where DynamoDB is because ${why}`)
