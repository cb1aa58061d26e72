// A client of DynamoDB that does for the engine's own commands what the SDK's document client does, and
// nothing else (decision 0034).

import { RequestNotMadeError } from '../network/request-errors.ts'
import { createRequestHandler, type RequestHandler } from '../network/request-handler.ts'
import { type Names, refuseUnknown } from '../shared/known-options.ts'
import { bodyOf, DynamodbError, type Response } from './answer.ts'
import {
  type Credentials,
  type CredentialsProvider,
  environmentCredentials,
  KeptCredentials,
} from './credentials.ts'
import { endpointOf } from './endpoint.ts'
import { decode, encode, type Operation, operationOf } from './operations.ts'
import { Signer } from './signature.ts'

export type LeanDynamodbOptions = {
  /** Default: `AWS_REGION`. */
  readonly region?: string | undefined
  /** Default: from the region and the environment variables that the SDK uses. */
  readonly endpoint?: string | undefined
  /** Any provider of the SDK will do. Default: from the environment. */
  readonly credentials?: Credentials | CredentialsProvider | undefined
  readonly requestHandler?: RequestHandler | undefined
  /** A test may pass its own clock. Default: the wall clock. */
  readonly nowMs?: (() => number) | undefined
}

/** Takes only the engine's commands. */
export type LeanDynamodb = {
  send(command: { readonly input: object }): Promise<unknown>
  /** Closes its connections. */
  destroy(): void
}

export function createLeanDynamodb(options: LeanDynamodbOptions = {}): LeanDynamodb {
  refuseUnknown(options, names)
  return new Lean(options)
}

const names: Names<LeanDynamodbOptions> = {
  region: 0,
  endpoint: 0,
  credentials: 0,
  requestHandler: 0,
  nowMs: 0,
}

const TARGET = 'DynamoDB_20120810'

/** The SDK's own threshold: AWS accepts five minutes or more, and networks take some time. */
const SKEW_MS = 240_000

/** From then on nobody can make a signature, because its year has four digits. */
const YEAR_10000_MS = Date.UTC(10_000, 0)

class Lean implements LeanDynamodb {
  readonly #handler: RequestHandler
  /** All parts of a request except its headers and body. */
  readonly #to: object
  readonly #signer: Signer
  readonly #credentials: KeptCredentials
  readonly #nowMs: () => number
  /** How far our clock is behind, once AWS has refused a signature for that reason. */
  #behindMs = 0

  constructor(options: LeanDynamodbOptions) {
    const { nowMs = Date.now, credentials = environmentCredentials } = options
    const { region = process.env.AWS_REGION } = options
    if (!region) {
      throw new Error('Cannot reach DynamoDB because neither `region` nor AWS_REGION is set')
    }
    this.#nowMs = nowMs
    this.#handler = options.requestHandler ?? createRequestHandler()
    const endpoint = endpointOf(region, process.env, options.endpoint)
    const { protocol, host, hostname, port, pathname } = endpoint.url
    const path = pathname.endsWith('/') ? pathname : `${pathname}/`
    this.#to = { protocol, hostname, port: port || undefined, method: 'POST', path, query: {} }
    this.#signer = new Signer(endpoint.region, host, path)
    const provider = typeof credentials === 'function' ? credentials : async () => credentials
    this.#credentials = new KeptCredentials(provider, nowMs)
  }

  async send(command: { readonly input: object }): Promise<unknown> {
    try {
      return await this.#send(command)
    } catch (error) {
      throw withMetadata(error)
    }
  }

  async #send(command: { readonly input: object }): Promise<unknown> {
    const operation = beforeSending(() => operationOf(command))
    const body = beforeSending(() => encode(operation, command.input))
    const target = `${TARGET}.${operation.name}`
    for (let isRepeated = false; ; isRepeated = true) {
      const credentials = await this.#credentials.get()
      const behindMs = this.#behindMs
      const headers = beforeSending(() =>
        this.#signer.headers(target, body, credentials, this.#nowMs() + behindMs),
      )
      const { response } = await this.#handler.handle({ ...this.#to, headers, body } as never)
      try {
        return answerOf(operation, response as unknown as Response)
      } catch (error) {
        // AWS refused the signature, so nothing was carried out, and we may send the request once more.
        if (isRepeated || !this.#isHealed(error, response.headers, { credentials, behindMs }))
          throw error
      }
    }
  }

  destroy(): void {
    this.#handler.destroy?.()
  }

  /** Whether another signature may pass after this one was refused. */
  #isHealed(error: unknown, { date = '' }: Headers, signedWith: SignedWith): boolean {
    if (!(error instanceof DynamodbError)) return false
    if (error.name === 'ExpiredTokenException') {
      this.#credentials.forget(signedWith.credentials)
      return true
    }
    if (!skewed.has(error.name)) return false
    const storeMs = Date.parse(date)
    const behindMs = storeMs - this.#nowMs()
    // Without a date this is NaN. A signature may also be wrong for other reasons than its time.
    if (!(Math.abs(behindMs - signedWith.behindMs) >= SKEW_MS && storeMs < YEAR_10000_MS))
      return false
    this.#behindMs = behindMs
    return true
  }
}

type Headers = Readonly<Record<string, string>>
type SignedWith = { readonly credentials: Credentials; readonly behindMs: number }

/** Error names for a signature of the wrong time: those that AWS uses, and those that it may use. */
const skewed = new Set([
  'InvalidSignatureException',
  'RequestExpired',
  'RequestInTheFuture',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
])

function answerOf(operation: Operation, response: Response): unknown {
  const answer = decode(operation, bodyOf(response))
  answer.$metadata = { httpStatusCode: response.statusCode, date: response.headers.date }
  return answer
}

/** If this fails, nothing was sent, and another try would fail as well. */
function beforeSending<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new RequestNotMadeError(error as Error)
  }
}

/** Adds `$metadata` as the SDK does: by it, the engine tells the client's errors from those of a caller's own code. */
function withMetadata(error: unknown): unknown {
  if (error instanceof Error && !('$metadata' in error)) Object.assign(error, { $metadata: {} })
  return error
}
