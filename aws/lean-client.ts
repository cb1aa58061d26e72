// A client of DynamoDB that does for the engine's own commands what the SDK's document client does, and nothing else
// (decision 0034). If AWS refuses a signature, nothing was carried out: we sign once more, with new credentials or by
// AWS's clock, and send the request again. We repeat nothing else.

import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { type Names, refuseUnknown } from '../shared/options.ts'
import { fromAttributes, toAttributes, withBytes } from './attribute-values.ts'
import { createRequestHandler, type RequestHandler } from './connections.ts'
import { RequestNotMadeError } from './failures.ts'
import {
  type Credentials,
  type CredentialsProvider,
  endpointOf,
  environmentCredentials,
  KeptCredentials,
  Signer,
} from './signing.ts'

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

const names: Names<LeanDynamodbOptions> = {
  region: 0,
  endpoint: 0,
  credentials: 0,
  requestHandler: 0,
  nowMs: 0,
}

export function createLeanDynamodb(options: LeanDynamodbOptions = {}): LeanDynamodb {
  refuseUnknown(options, names)
  return new Lean(options)
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

/** The attributes of an item; the same for each member of a list or map; or for some fields of an object. */
type Shape = 'attributes' | { readonly each: Shape } | { readonly fields: Fields }
type Fields = Readonly<Record<string, Shape>>

/** A command that the engine sends, as a request of DynamoDB's protocol: which of its parts are attributes. */
type Operation = {
  /** In the header that names the operation. */
  readonly name: string
  readonly input: Fields
  readonly output: Fields
}

const attributes = 'attributes'
const each = (shape: Shape): Shape => ({ each: shape })
const fields = (shape: Fields): Shape => ({ fields: shape })

const values = { ExpressionAttributeValues: attributes } as const
const put = { Item: attributes, ...values } as const
const update = { Key: attributes, ...values } as const
const remove = update
const reads = each(fields({ Keys: each(attributes) }))
const writes = each(
  each(
    fields({
      PutRequest: fields({ Item: attributes }),
      DeleteRequest: fields({ Key: attributes }),
    }),
  ),
)
const entry = fields({
  Put: fields(put),
  Update: fields(update),
  Delete: fields(remove),
  ConditionCheck: fields(update),
})

/** By class, because names of classes do not survive bundling. */
const operations = new Map<unknown, Operation>([
  [GetCommand, { name: 'GetItem', input: { Key: attributes }, output: { Item: attributes } }],
  [PutCommand, { name: 'PutItem', input: put, output: { Attributes: attributes } }],
  [UpdateCommand, { name: 'UpdateItem', input: update, output: { Attributes: attributes } }],
  [DeleteCommand, { name: 'DeleteItem', input: remove, output: { Attributes: attributes } }],
  [
    QueryCommand,
    {
      name: 'Query',
      input: { ...values, ExclusiveStartKey: attributes },
      output: { Items: each(attributes), LastEvaluatedKey: attributes },
    },
  ],
  [
    BatchGetCommand,
    {
      name: 'BatchGetItem',
      input: { RequestItems: reads },
      output: { Responses: each(each(attributes)), UnprocessedKeys: reads },
    },
  ],
  [
    BatchWriteCommand,
    {
      name: 'BatchWriteItem',
      input: { RequestItems: writes },
      output: { UnprocessedItems: writes },
    },
  ],
  [
    TransactWriteCommand,
    { name: 'TransactWriteItems', input: { TransactItems: each(entry) }, output: {} },
  ],
])

export function operationOf(command: object): Operation {
  const operation = operations.get(command.constructor)
  if (operation !== undefined) return operation
  throw new Error(
    `Cannot send a ${command.constructor.name}: the lean client takes the engine's own commands alone`,
  )
}

export function encode({ name, input: shape }: Operation, input: object): string {
  const body = convertFields(shape, input, toAttributes)
  // With a token, DynamoDB does not carry out a late copy of the request again.
  if (name === 'TransactWriteItems') body.ClientRequestToken ??= randomUUID()
  return JSON.stringify(body)
}

const decode = ({ output }: Operation, body: object): Record<string, unknown> =>
  convertFields(output, body, fromAttributes)

type Convert = (item: object) => unknown

function convert(shape: Shape, value: unknown, leaf: Convert): unknown {
  if (shape === 'attributes') return leaf(value as object)
  if ('fields' in shape) return convertFields(shape.fields, value as object, leaf)
  if (Array.isArray(value)) return value.map((member) => convert(shape.each, member, leaf))
  return Object.fromEntries(
    Object.entries(value as object).map(([name, member]) => [
      name,
      convert(shape.each, member, leaf),
    ]),
  )
}

function convertFields(shape: Fields, value: object, leaf: Convert): Record<string, unknown> {
  const converted: Record<string, unknown> = { ...value }
  for (const name in shape) {
    const field = converted[name]
    if (field === undefined || field === null) continue
    converted[name] = convert(shape[name] as Shape, field, leaf)
  }
  return converted
}

type Response = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

type Body = Readonly<Record<string, unknown>>

/** The body of an answer. Throws if DynamoDB refused the request, or if the answer is not from DynamoDB. */
function bodyOf(response: Response): Body {
  const { statusCode, body } = response
  checkSum(response)
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
  if (statusCode === 200) return parse(text)
  throw new DynamodbError(response, parsed(text))
}

function checkSum({ headers, body }: Response): void {
  const wanted = headers['x-amz-crc32']
  if (wanted === undefined || crc32(body) === Number(wanted)) return
  throw new Error('The checksum of an answer from DynamoDB is not the one that it names')
}

function parse(text: string): Body {
  const body: unknown = JSON.parse(text)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body
  throw new Error('An answer from DynamoDB is no object')
}

/** A proxy in between may answer in its own words. */
function parsed(text: string): Body {
  try {
    return parse(text)
  } catch {
    return {}
  }
}

/** An error of DynamoDB as the SDK throws it: its items are attributes, not decoded values. */
class DynamodbError extends Error {
  readonly $fault: 'client' | 'server'
  readonly $metadata: { readonly httpStatusCode: number; readonly requestId: string | undefined }
  readonly Item: unknown
  readonly CancellationReasons: unknown

  constructor({ statusCode, headers }: Response, body: Body) {
    super(String(body.message ?? body.Message ?? `DynamoDB answered ${statusCode}`))
    this.name = nameOf(body.__type ?? headers['x-amzn-errortype'])
    this.$fault = statusCode < 500 ? 'client' : 'server'
    this.$metadata = { httpStatusCode: statusCode, requestId: headers['x-amzn-requestid'] }
    this.Item = withBytes(body.Item)
    this.CancellationReasons = withBytes(body.CancellationReasons)
  }
}

/** `com.amazonaws.dynamodb.v20120810#ThrottlingException:http://…` is a ThrottlingException. */
const nameOf = (type: unknown): string =>
  String(type ?? '')
    .split(/[:,]/)[0]
    ?.split('#')
    .at(-1) || 'UnknownError'
