// How a request becomes values that a schema can check: its body, whose items stay text, and its parameters from the
// query and from headers. Each check guards the next, more costly one. Errors never repeat a payload.

import type * as v from 'valibot'
import { isJson } from '../../shared/wire.ts'
import { codeOf, quoted, RequestError } from './answer.ts'
import { JsonReader, NESTING_MAX } from './json-reader.ts'

export type ObjectSchema = v.StrictObjectSchema<v.ObjectEntries, string>

/** Lock ids, item ids and a reason: a hundred of the longest are a quarter of this. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024

type Headers = Readonly<Record<string, string | undefined>>

/**
 * `json` accepts only that. `json-or-curl` also accepts the command for a late acknowledgement from PushPop's source
 * documents, which promise that it works: `curl -d '{…}'` without a header, which curl sends as a form.
 */
export type MediaTypes = 'json' | 'json-or-curl'

const FORM = 'application/x-www-form-urlencoded'

/** Checks a body's declared type before we read it. */
export function checkMediaType(headers: Headers, accepted: MediaTypes): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const isJson = type === 'application/json' && parameters.every(isUtf8)
  const isCurl = accepted === 'json-or-curl' && type === FORM
  const coding = headers['content-encoding'] ?? 'identity'
  if ((isJson || isCurl) && coding.trim().toLowerCase() === 'identity') return
  throw unsupported()
}

const isUtf8 = (parameter: string): boolean =>
  !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter)

/** If a form-typed body is not a JSON object, it is a form. */
export function checkNoForm(headers: Headers, text: string): void {
  const isForm = headers['content-type']?.trim().toLowerCase().startsWith(FORM)
  if (isForm && !text.trimStart().startsWith('{')) throw unsupported()
}

const unsupported = (): RequestError =>
  new RequestError(
    'UNSUPPORTED_MEDIA_TYPE',
    'A body must be sent as Content-Type: application/json, in UTF-8 and not compressed',
    { field: 'Content-Type' },
  )

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

/** Which values stay text: to this service, an item is its text. */
export type RawFields = {
  /** Fields whose values stay text. */
  readonly raw: ReadonlySet<string>
  /** Fields that hold lists of objects with such fields, and how many of those at most. */
  readonly lists?: Readonly<Record<string, { readonly of: RawFields; readonly max: number }>>
  /** Fields that hold one such object. */
  readonly objects?: Readonly<Record<string, RawFields>>
}

type Fields = Record<string, unknown>

/** An object's fields by name, each once; `raw` ones as text, all others as parsed values. */
export function readBody(text: string, rawFields: RawFields): Fields {
  return readLone(text, rawFields) ?? readAll(text, rawFields)
}

/**
 * Most bodies are `{"item":…}`. If what stands there between the colon and the last bracket is JSON, the body has this
 * one field, and that is its text: JSON's own parser knows that sooner than our reader, and we need not look at what it
 * made of it. Where it is no JSON, the reader finds another field, or the place of the mistake.
 */
function readLone(text: string, { raw }: RawFields): Fields | undefined {
  const [name] = raw
  const head = `{"${name}":`
  // In so few characters, nothing is nested deeper than the reader allows.
  if (name === undefined || text.length > NESTING_MAX || !text.startsWith(head)) return undefined
  const value = text.slice(head.length, -1)
  if (!text.endsWith('}') || !isJson(value)) return undefined
  return Object.assign(Object.create(null), { [name]: value.trim() })
}

function readAll(text: string, rawFields: RawFields): Fields {
  const reader = new JsonReader(text)
  if (reader.peek() === '\ufeff') {
    throw new RequestError('INVALID_JSON', 'The body begins with a byte order mark; leave it out')
  }
  if (reader.peek() !== '{') {
    reader.value()
    throw new RequestError('INVALID_JSON', 'The body must be a JSON object')
  }
  const fields = readFields(reader, rawFields, '')
  reader.end()
  return fields
}

function readFields(reader: JsonReader, rawFields: RawFields, path: string): Fields {
  const { raw, lists, objects } = rawFields
  // Without a prototype: `__proto__` is a name like any other here.
  const fields: Fields = Object.create(null)
  reader.fields((name) => {
    if (name in fields) throw givenTwice(path, name)
    const list = lists !== undefined && Object.hasOwn(lists, name) ? lists[name] : undefined
    const object = objects !== undefined && Object.hasOwn(objects, name) ? objects[name] : undefined
    if (list !== undefined && reader.peek() === '[') {
      fields[name] = readList(reader, name, list)
    } else if (object !== undefined && reader.peek() === '{') {
      fields[name] = readFields(reader, object, `${path}${name}.`)
    } else {
      const value = reader.value()
      fields[name] = raw.has(name) ? value : JSON.parse(value)
    }
  })
  return fields
}

function readList(
  reader: JsonReader,
  name: string,
  { of, max }: { readonly of: RawFields; readonly max: number },
): unknown[] {
  const list: unknown[] = []
  reader.elements((index) => {
    // Check here, and not once all are read: a body of 2.5 MiB can hold a million tiny elements.
    if (index === max) {
      throw new RequestError(codeOf(name), `${name} holds more than ${max} elements`, {
        field: name,
      })
    }
    const isObject = reader.peek() === '{'
    list.push(isObject ? readFields(reader, of, `${name}[${index}].`) : JSON.parse(reader.value()))
  })
  return list
}

function givenTwice(path: string, name: string): RequestError {
  const field = path + name.slice(0, 64)
  return new RequestError('INVALID_PARAMETER', `${quoted(path + name)} is given twice`, {
    field,
  })
}

/** How to read a parameter's text before its schema checks it. */
type ParameterKind = 'number' | 'boolean' | 'string'

export type ParameterKinds = Readonly<Record<string, ParameterKind>>

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
    if (found.has(name)) throw parameterGivenTwice(name)
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
    if (found.has(name) || value.includes(',')) throw parameterGivenTwice(name)
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

const parameterGivenTwice = (name: string): RequestError =>
  new RequestError('INVALID_PARAMETER', `Parameter ${quoted(name)} is given twice`, {
    field: name.slice(0, 64),
  })

type Schema = v.GenericSchema & {
  readonly wrapped?: Schema
}

/** How to read each parameter's text, from the type with which its schema begins. */
export function parameterKinds(schema: ObjectSchema): ParameterKinds {
  const entries = Object.entries(schema.entries)
  return Object.fromEntries(entries.map(([name, entry]) => [name, kindOf(entry as Schema)]))
}

function kindOf(schema: Schema): ParameterKind {
  if (schema.wrapped !== undefined) return kindOf(schema.wrapped)
  return schema.type === 'number' || schema.type === 'boolean' ? schema.type : 'string'
}
