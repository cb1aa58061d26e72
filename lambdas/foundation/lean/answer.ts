// Checks an answer, and throws the error that it may be.

import { crc32 } from 'node:zlib'
import { withBytes } from './attribute-values.ts'

export type Response = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

type Body = Readonly<Record<string, unknown>>

/** An error of DynamoDB as the SDK throws it: its items are attributes, not decoded values. */
export class DynamodbError extends Error {
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

/** The body of an answer. Throws if DynamoDB refused the request, or if the answer is not from DynamoDB. */
export function bodyOf(response: Response): Body {
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
