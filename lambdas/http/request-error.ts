import type { HttpErrorCode } from './error-table.ts'

type RequestErrorDetails = {
  /** The field, parameter or header that is wrong. */
  readonly field?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What the limit was, in bytes. */
  readonly limitBytes?: number
  /** Set if the same request may succeed later. Otherwise it never will. */
  readonly retryable?: true
  /** More fields of the answer. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** A request that never reaches the engine. Callers see its message, which never repeats a payload. */
export class RequestError extends Error {
  readonly code: HttpErrorCode
  readonly details: RequestErrorDetails

  constructor(code: HttpErrorCode, message: string, details: RequestErrorDetails = {}) {
    super(message)
    this.name = 'RequestError'
    this.code = code
    this.details = details
  }
}

const NAME_CHARACTERS_MAX = 64

/** A name that a caller chose, short enough for a sentence. */
export const quoted = (name: string): string =>
  JSON.stringify(
    name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name,
  )

/** An error about a field has the field's own code, however it is wrong. */
export const codeOf = (field: string): HttpErrorCode => codes.get(field) ?? 'INVALID_PARAMETER'

const codes: ReadonlyMap<string, HttpErrorCode> = new Map([
  ['item', 'INVALID_ITEM'],
  ['items', 'INVALID_ITEM'],
  ['priority', 'INVALID_PRIORITY'],
  ['count', 'INVALID_COUNT'],
  ['ttl_seconds', 'INVALID_TTL'],
])
