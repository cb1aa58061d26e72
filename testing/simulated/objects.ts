// S3 in memory: one bucket of whole objects, copied on the way in and on the way out.

import {
  type DeleteObjectsCommandInput,
  type DeleteObjectsCommandOutput,
  type GetObjectCommandInput,
  type GetObjectCommandOutput,
  NoSuchBucket,
  NoSuchKey,
  type PutObjectCommandInput,
  type PutObjectCommandOutput,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { withoutStack } from './dynamodb/errors.ts'

const metadata = Object.freeze({ httpStatusCode: 200, requestId: 'simulated', attempts: 1 })
const keyBytesMax = 1024
const deletesMax = 1000
/** To ignore others would be a lie. */
const putFields = new Set(['Bucket', 'Key', 'Body', 'IfNoneMatch'])

export class Objects {
  private readonly bucket: string
  private readonly byKey = new Map<string, Uint8Array>()

  constructor(bucket: string) {
    this.bucket = bucket
  }

  keys(): IterableIterator<string> {
    return this.byKey.keys()
  }

  bytes(key: string): Uint8Array | undefined {
    return this.byKey.get(key)
  }

  put(input: PutObjectCommandInput): PutObjectCommandOutput {
    const key = this.check(input)
    const strange = Object.keys(input).find((name) => !putFields.has(name))
    if (strange !== undefined) {
      throw new Error(`Cannot simulate ${strange} because the store does not know it`)
    }
    if (input.IfNoneMatch === '*' && this.byKey.has(key)) {
      const message = 'At least one of the pre-conditions you specified did not hold'
      throw s3Error('PreconditionFailed', 412, message)
    }
    this.byKey.set(key, toBytes(input.Body))
    return { $metadata: metadata }
  }

  get(input: GetObjectCommandInput): GetObjectCommandOutput {
    const key = this.check(input)
    const stored = this.byKey.get(key)
    if (stored === undefined) {
      throw new NoSuchKey({
        $metadata: { ...metadata, httpStatusCode: 404 },
        message: 'The specified key does not exist.',
      })
    }
    const body = within(stored, input.Range)
    return { $metadata: metadata, ContentLength: body.byteLength, Body: toBody(body) }
  }

  deleteMany(input: DeleteObjectsCommandInput): DeleteObjectsCommandOutput {
    this.requireBucket(input.Bucket)
    const keys = (input.Delete?.Objects ?? []).map((one) => one.Key ?? '')
    if (keys.length === 0 || keys.length > deletesMax) {
      throw s3Error('MalformedXML', 400, 'The XML you provided was not well-formed')
    }
    for (const key of keys) this.byKey.delete(key)
    const output: DeleteObjectsCommandOutput = { $metadata: metadata }
    if (input.Delete?.Quiet !== true) output.Deleted = keys.map((Key) => ({ Key }))
    return output
  }

  private check(input: {
    readonly Bucket: string | undefined
    readonly Key: string | undefined
  }): string {
    this.requireBucket(input.Bucket)
    const { Key } = input
    if (Key === undefined || Key === '') {
      throw new Error('Empty value provided for input HTTP label: Key.')
    }
    if (Buffer.byteLength(Key) > keyBytesMax) {
      throw s3Error('KeyTooLongError', 400, 'Your key is too long')
    }
    return Key
  }

  private requireBucket(bucket: string | undefined): void {
    if (bucket === this.bucket) return
    throw new NoSuchBucket({
      $metadata: { ...metadata, httpStatusCode: 404 },
      message: 'The specified bucket does not exist',
    })
  }
}

export function s3Error(name: string, httpStatusCode: number, message: string): S3ServiceException {
  const $fault = httpStatusCode >= 500 ? 'server' : 'client'
  const options = { name, $fault, $metadata: { httpStatusCode }, message } as const
  return withoutStack(() => new S3ServiceException(options))
}

function toBytes(body: PutObjectCommandInput['Body']): Uint8Array {
  if (body === undefined) return new Uint8Array()
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof Uint8Array) return new Uint8Array(body)
  throw new Error('Cannot store this body because only strings and bytes are simulated')
}

/** `bytes=a-b`, both included, as far as there are so many. */
function within(stored: Uint8Array, range: string | undefined): Uint8Array {
  if (range === undefined) return stored
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? []
  if (to === undefined)
    throw new Error(`Cannot simulate the range ${range}: only bytes=a-b is known`)
  if (Number(from) >= stored.byteLength) {
    throw s3Error('InvalidRange', 416, 'The requested range is not satisfiable')
  }
  return stored.subarray(Number(from), Number(to) + 1)
}

/** The part of the SDK's stream that a caller who wants the whole object uses. */
function toBody(stored: Uint8Array): NonNullable<GetObjectCommandOutput['Body']> {
  const body = {
    transformToByteArray: async () => new Uint8Array(stored),
    transformToString: async (encoding?: BufferEncoding) => Buffer.from(stored).toString(encoding),
  }
  return body as unknown as NonNullable<GetObjectCommandOutput['Body']>
}
