// DynamoDB by its own JSON, without the SDK: we make a handful of calls, and get the records of a stream in
// exactly the form that functions get them in.

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

export function dynamodbApi(endpoint: string): DynamodbApi {
  return async (operation, input) => {
    const api = streamOperations.has(operation) ? 'DynamoDBStreams' : 'DynamoDB'
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `${api}_20120810.${operation}`,
        // No store verifies this, but DynamoDB Local reads from it to whom the tables belong.
        authorization:
          'AWS4-HMAC-SHA256 Credential=S3RVER/20260101/us-east-1/dynamodb/aws4_request, ' +
          'SignedHeaders=host, Signature=0',
        'x-amz-date': '20260101T000000Z',
      },
      body: JSON.stringify(input),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    })
    const output = (await response.json()) as Record<string, unknown>
    if (response.ok) return output
    const code = String(output.__type ?? response.status).replace(/^.*#/, '')
    throw new DynamodbError(operation, code, String(output.message ?? output.Message ?? ''))
  }
}
