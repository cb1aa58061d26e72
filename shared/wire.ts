// How JSON on the wire differs from our code, for both ends of it. The wire has snake_case, epoch seconds and no fields
// without a value; our code has camelCase, milliseconds and `undefined`. Only this file renames. Never convert items:
// their contents belong to the caller. The client bundles this file too, so it imports nothing.
//
// A caller who mixes up the units of time names a time that nobody means: milliseconds taken for seconds are tens of
// thousands of years ahead, and seconds taken for milliseconds are in 1970.

export type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The same value with its fields renamed, on every level. */
type SnakeCased<T> = T extends readonly (infer E)[]
  ? readonly SnakeCased<E>[]
  : T extends object
    ? { readonly [Name in keyof T as SnakeCase<Name>]: SnakeCased<T[Name]> }
    : T

export type CamelCased<T> = T extends readonly (infer E)[]
  ? readonly CamelCased<E>[]
  : T extends object
    ? { readonly [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> }
    : T

export const snakeCased = <T>(value: T): SnakeCased<T> => renamed(value, snakeCase)
export const camelCased = <T>(value: T): CamelCased<T> => renamed(value, camelCase)

function renamed<R>(value: unknown, rename: (name: string) => string): R {
  if (typeof value !== 'object' || value === null) return value as R
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename)) as R
  const fields = Object.entries(value).map(([name, field]) => [
    rename(name),
    renamed(field, rename),
  ])
  return Object.fromEntries(fields) as R
}

type Present<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/** Leaves out fields that are `undefined`, as `JSON.stringify` does. */
export function present<T extends object>(fields: T): Present<T> {
  const there: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) there[name] = value
  return there as Present<T>
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // All we need to know is that this is not JSON; the calling function says what is wrong.
    return false
  }
}

/** The year 5138. As milliseconds it is March 1973. */
export const EPOCH_SECONDS_MAX = 99_999_999_999

/** September 2001. As seconds, an earlier time is as much in the past as it is as milliseconds. */
const MISTAKEN_FROM = 1_000_000_000

/** As milliseconds it would be a time from 1970 to 1973, which would count as "now", or as already expired. */
export const looksLikeSeconds = (ms: number): boolean =>
  ms >= MISTAKEN_FROM && ms <= EPOCH_SECONDS_MAX

/**
 * Converts a request's time from epoch seconds. A time from 1970 to 1973 becomes 0, which is just as long ago: the
 * engine would otherwise suspect that its caller mixed up seconds and milliseconds.
 */
export function msOf(seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined
  const ms = Math.round(1_000 * seconds)
  return looksLikeSeconds(ms) ? 0 : ms
}

/** The reason that goes with a dead letter stays in the record until its items have moved. */
export const REASON_CHARACTERS_MAX = 256

/**
 * Makes a reason that the service accepts from whatever a handler gives: in JavaScript, that may be an error, or
 * nothing. The service refuses half a character, whether it was there or the cut left it, and an item whose reason
 * is refused would come back for ever.
 */
export const shortenedReason = (reason: unknown, characters = REASON_CHARACTERS_MAX): string =>
  String(reason ?? '')
    .toWellFormed()
    .slice(0, characters)
    .replace(/[\uD800-\uDBFF]$/, '')

/** For clients with another request handler than ours: system calls that come before anything is sent. */
const callsBeforeSending = new Set(['getaddrinfo', 'connect'])
/** A code such as `EHOSTUNREACH` is not here: an established connection may fail with it as well. */
const codesBeforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  // We do not trust the other end's certificate.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Whether there was no connection to send anything over, according to Node. The SDK's own connection timeout
 * cannot tell: it is a `TimeoutError` without a code, and so are its timeout for a silent socket and, in older
 * versions, that for any request.
 */
export function isUnsent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { errors, code, syscall } = error as Readonly<Record<string, unknown>>
  // Node gives one error for each address of the host.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isUnsent)
  return callsBeforeSending.has(String(syscall)) || codesBeforeSending.has(String(code))
}
