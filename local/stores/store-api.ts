// How to reach the stores: their addresses and keys, for other processes as variables; and DynamoDB and SQS by their
// own JSON, without the SDK: the stack makes a handful of calls, and gets the records of a stream in exactly the form
// that functions get them in.

import { Signer } from '../../aws/signing.ts'
import { REGION } from '../template/identities.ts'

export type StoreEndpoints = {
  readonly dynamodbEndpoint: string
  readonly s3Endpoint: string
  /** Only a whole stack has queues. */
  readonly sqsEndpoint?: string | undefined
  /** Absent for the embedded stores, which keep nobody out. */
  readonly credentials?: StoreCredentials | undefined
}

type StoreCredentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** s3rver knows this key and no other; dynoxide takes any. */
const embeddedCredentials: StoreCredentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

export const credentialsOf = ({ credentials }: Pick<StoreEndpoints, 'credentials'>) =>
  credentials ?? embeddedCredentials

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Stores that somebody else has started. A process has one key for all its stores, and s3rver takes only its own: so
 * the environment's key is for an S3 of somebody else. A DynamoDB alone has to take any key, as DynamoDB Local does.
 */
export function storesElsewhere(environment: Environment): Partial<StoreEndpoints> {
  const { PUSHPOP_DYNAMODB_ENDPOINT, PUSHPOP_S3_ENDPOINT, AWS_SESSION_TOKEN } = environment
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  const hasKey = PUSHPOP_S3_ENDPOINT && accessKeyId && secretAccessKey
  return {
    ...(PUSHPOP_DYNAMODB_ENDPOINT && { dynamodbEndpoint: PUSHPOP_DYNAMODB_ENDPOINT }),
    ...(PUSHPOP_S3_ENDPOINT && { s3Endpoint: PUSHPOP_S3_ENDPOINT }),
    ...(hasKey && {
      credentials: {
        accessKeyId,
        secretAccessKey,
        ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
      },
    }),
  }
}

/** Environment variables that make a process's AWS SDK clients use these stores. */
export function storeEnvironment(endpoints: StoreEndpoints): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentialsOf(endpoints)
  return {
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
    // Addresses, not names: only then does the SDK put a bucket's name into the path by itself.
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodbEndpoint,
    AWS_ENDPOINT_URL_S3: endpoints.s3Endpoint,
    ...(endpoints.sqsEndpoint !== undefined && { AWS_ENDPOINT_URL_SQS: endpoints.sqsEndpoint }),
  }
}

export class DynamodbError extends Error {
  override name = 'DynamodbError'
  /** `ResourceInUseException` */
  readonly code: string

  constructor(operation: string, code: string, message: string) {
    super(`DynamoDB refused ${operation}: ${code}: ${message}`)
    this.code = code
  }
}

export type DynamodbApi = (
  operation: string,
  input: Readonly<Record<string, unknown>>,
) => Promise<Readonly<Record<string, unknown>>>

/** Longer than any call takes on a busy machine: no call may wait for ever. */
const REQUEST_MS_MAX = 20_000

const streamOperations = new Set(['DescribeStream', 'GetShardIterator', 'GetRecords'])

export function dynamodbApi(endpoint: string, credentials = credentialsOf({})): DynamodbApi {
  const { host, pathname } = new URL(endpoint)
  const signer = new Signer(REGION, host, pathname)
  return async (operation, input) => {
    const api = streamOperations.has(operation) ? 'DynamoDBStreams' : 'DynamoDB'
    const body = JSON.stringify(input)
    const target = `${api}_20120810.${operation}`
    const response = await fetch(endpoint, {
      method: 'POST',
      // The embedded one does not look; DynamoDB Local reads from them to whom the tables belong.
      headers: signer.headers(target, body, credentials, Date.now()),
      body,
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    })
    const output = (await response.json()) as Record<string, unknown>
    if (response.ok) return output
    const code = String(output.__type ?? response.status).replace(/^.*#/, '')
    throw new DynamodbError(operation, code, String(output.message ?? output.Message ?? ''))
  }
}

export class SqsApiError extends Error {
  override name = 'SqsApiError'
}

type Output = Readonly<Record<string, unknown>>

export type SqsApi = (action: string, input: Output, signal?: AbortSignal) => Promise<Output>

/** Longer than the longest poll, and than any call takes on a busy machine: no call may wait for ever. */
const SQS_REQUEST_MS_MAX = 40_000

export function sqsApi(endpoint: string): SqsApi {
  return async (action, input, signal) => {
    const timeout = AbortSignal.timeout(SQS_REQUEST_MS_MAX)
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `AmazonSQS.${action}`,
      },
      body: JSON.stringify(input),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    const output = (await response.json()) as Output
    if (response.ok) return output
    throw new SqsApiError(`SQS refused ${action}: ${output.message}`)
  }
}
