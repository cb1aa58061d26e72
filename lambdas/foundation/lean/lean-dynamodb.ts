// A client of DynamoDB that does for the engine's own commands what the SDK's document client does, and
// nothing else (decision 0034).

import { RequestNotMadeError } from '../network/request-errors.ts'
import { createRequestHandler, type RequestHandler } from '../network/request-handler.ts'
import { checkOptions, type Names } from '../shared/known-options.ts'
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
  /** `AWS_REGION`, unless set. */
  readonly region?: string | undefined
  /** By the region and the variables that the SDK goes by, unless set. */
  readonly endpoint?: string | undefined
  /** From the environment, unless set; any provider of the SDK will do. */
  readonly credentials?: Credentials | CredentialsProvider | undefined
  readonly requestHandler?: RequestHandler | undefined
  /** The wall clock, unless a test brings another. */
  readonly nowMs?: (() => number) | undefined
}

/** Takes the engine's commands alone. */
export type LeanDynamodb = {
  send(command: { readonly input: object }): Promise<unknown>
  /** Closes its connections. */
  destroy(): void
}

export function createLeanDynamodb(options: LeanDynamodbOptions = {}): LeanDynamodb {
  checkOptions(options, names)
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

/** As the SDK judges it: AWS accepts five minutes or more, and networks take their time. */
const SKEW_MS = 240_000

/** No signature can be made from then on, because its year has four digits. */
const YEAR_10000_MS = Date.UTC(10_000, 0)

class Lean implements LeanDynamodb {
  readonly #handler: RequestHandler
  /** All of a request but its headers and body. */
  readonly #to: object
  readonly #signer: Signer
  readonly #credentials: KeptCredentials
  readonly #nowMs: () => number
  /** How far our clock is behind, once AWS has refused a signature for that. */
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
        // Refused for how it was signed, so nothing was carried out: it may go once more.
        if (isRepeated || !this.#isHealed(error, response.headers, { credentials, behindMs }))
          throw error
      }
    }
  }

  destroy(): void {
    this.#handler.destroy?.()
  }

  /** Whether another signature may pass where this one did not. */
  #isHealed(error: unknown, { date = '' }: Headers, signedWith: SignedWith): boolean {
    if (!(error instanceof DynamodbError)) return false
    if (error.name === 'ExpiredTokenException') {
      this.#credentials.forget(signedWith.credentials)
      return true
    }
    if (!skewed.has(error.name)) return false
    const storeMs = Date.parse(date)
    const behindMs = storeMs - this.#nowMs()
    // Not a number where there is no date. A signature may be wrong for other reasons than its time.
    if (!(Math.abs(behindMs - signedWith.behindMs) >= SKEW_MS && storeMs < YEAR_10000_MS))
      return false
    this.#behindMs = behindMs
    return true
  }
}

type Headers = Readonly<Record<string, string>>
type SignedWith = { readonly credentials: Credentials; readonly behindMs: number }

/** What AWS calls a signature of the wrong time, and what it may call one. */
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

/** What fails here has sent nothing, and would fail again. */
function beforeSending<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new RequestNotMadeError(error as Error)
  }
}

/** As the SDK does: by it the engine tells the client's errors from those of a caller's own code. */
function withMetadata(error: unknown): unknown {
  if (error instanceof Error && !('$metadata' in error)) Object.assign(error, { $metadata: {} })
  return error
}
