// DynamoDB by its own JSON, without the SDK: we make a handful of calls, and get the records of a stream in
// exactly the form that functions get them in.

import { Signer } from '../../aws/signing.ts'
import { REGION } from '../template/identities.ts'
import { credentialsOf } from './store-environment.ts'

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
