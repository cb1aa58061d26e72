import { PUSH_BYTES_MAX } from '../engine/core/limits.ts'
import { RequestError } from './request-error.ts'

/** Lock ids, item ids and a reason: a hundred of the longest are a quarter of this. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024
export { PUSH_BYTES_MAX as PUSH_BODY_BYTES_MAX }

type RawBody = {
  readonly body?: string | undefined
  readonly isBase64Encoded?: boolean | undefined
}

/** The text of a body; `undefined` when there is none, or nothing in it. */
export function bodyText(event: RawBody, bytesMax: number): string | undefined {
  const { body } = event
  if (body === undefined || body === null || body === '') return undefined
  return event.isBase64Encoded ? decoded(body, bytesMax) : checked(body, bytesMax)
}

function decoded(body: string, bytesMax: number): string {
  // Four characters are three bytes: we do not even decode a body that is too large.
  if (body.length * 0.75 > bytesMax + 4) throw tooLarge(bytesMax)
  const bytes = Buffer.from(body, 'base64')
  if (bytes.length > bytesMax) throw tooLarge(bytesMax)
  try {
    return utf8.decode(bytes)
  } catch {
    throw notText()
  }
}

function checked(body: string, bytesMax: number): string {
  const bytesAtMost = body.length * 3
  if (bytesAtMost > bytesMax && Buffer.byteLength(body) > bytesMax) throw tooLarge(bytesMax)
  if (!body.isWellFormed()) throw notText()
  return body
}

/** Keeps a byte order mark, so that the reader refuses it: JSON has none. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const notText = (): RequestError =>
  new RequestError('INVALID_JSON', 'The body cannot be read as JSON because it is not UTF-8')

const tooLarge = (limitBytes: number): RequestError =>
  new RequestError('BODY_TOO_LARGE', `The body is larger than the limit of ${limitBytes} bytes`, {
    limitBytes,
  })
