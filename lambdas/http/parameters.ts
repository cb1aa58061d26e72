import { quoted, RequestError } from './request-error.ts'

/** How to read a parameter's text before its schema checks it. */
export type ParameterKind = 'number' | 'boolean' | 'string'

export type ParameterKinds = Readonly<Record<string, ParameterKind>>

type Headers = Readonly<Record<string, string | undefined>>

/**
 * Parameters by name, from the raw query string: the gateway joins a parameter that is given twice with
 * a comma, as if it were one.
 */
export function queryParameters(rawQuery: string | undefined): Map<string, string> {
  const found = new Map<string, string>()
  if (!rawQuery) return found
  for (const pair of rawQuery.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    // AWS's own tools put signatures into the query, and the gateway checks them.
    if (name.startsWith('X-Amz-')) continue
    if (found.has(name)) throw givenTwice(name)
    found.set(name, equals === -1 ? '' : decode(pair.slice(equals + 1)))
  }
  return found
}

/** Adds those given as headers: `require_ack` is `Require-Ack` there. */
export function addHeaderParameters(
  found: Map<string, string>,
  headers: Headers,
  names: readonly string[],
): void {
  for (const name of names) {
    const value = headers[name.replaceAll('_', '-')]
    if (value === undefined) continue
    // The gateway joins repeated headers with a comma, which no parameter's value has.
    if (found.has(name) || value.includes(',')) throw givenTwice(name)
    found.set(name, value)
  }
}

/** Turns texts into values; text that does not parse stays text, and its schema refuses it. */
export function typedParameters(
  texts: ReadonlyMap<string, string>,
  kinds: ParameterKinds,
): Record<string, unknown> {
  const typed: Record<string, unknown> = Object.create(null)
  for (const [name, text] of texts) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    typed[name] = kind === 'number' ? integer(text) : kind === 'boolean' ? flag(text) : text
  }
  return typed
}

const integerForm = /^-?(0|[1-9]\d*)$/

/** The text may have any length: a number too large to be exact also exceeds every bound. */
function integer(text: string): number | string {
  if (!integerForm.test(text)) return text
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))
}

const flag = (text: string): boolean | string =>
  text === 'true' ? true : text === 'false' ? false : text

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new RequestError(
      'INVALID_PARAMETER',
      'The query cannot be read because its percent-encoding is not UTF-8',
      { field: 'query' },
    )
  }
}

const givenTwice = (name: string): RequestError =>
  new RequestError('INVALID_PARAMETER', `Parameter ${quoted(name)} is given twice`, {
    field: name.slice(0, 64),
  })
