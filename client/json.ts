// What callers give us, as JSON has it. An item is its text, with its spelling of numbers and its order of keys;
// `JSON.parse` and `JSON.stringify` would change it. So items go out as text, and we cut their texts out of answers.
// Times are a Date, or a number of milliseconds; the wire has seconds.

import { looksLikeSeconds } from '../shared/wire.ts'
import { PushPopError } from './errors.ts'

const made = new WeakSet<object>()

/** JSON that the client sends unchanged: `rawJson('1.10')`, `rawJson('12345678901234567890')`. */
export type RawJson = { readonly text: string }

export function rawJson(text: string): RawJson {
  // Text that is not one single value could smuggle other fields into the request.
  try {
    JSON.parse(text)
  } catch (cause) {
    throw new PushPopError('NOT_JSON', 'Cannot push this text because it is not one JSON value', {
      field: 'item',
      cause,
    })
  }
  const raw = Object.freeze({ text })
  made.add(raw)
  return raw
}

/** The text of an item, as it will be stored. */
export function textOf(item: unknown): string {
  if (typeof item === 'object' && item !== null && made.has(item)) return (item as RawJson).text
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(item)
  } catch (error) {
    cause = error
  }
  // A value that silently became null has left the word "null" in the text.
  if (cause !== undefined || text?.includes('null')) refuseWithPlace(item)
  if (text !== undefined) return text
  const what = item === undefined ? 'undefined' : `${nounFor[typeof item]} that JSON cannot say`
  throw new PushPopError('NOT_JSON', `Cannot push this item because it is ${what}`, {
    field: 'item',
    cause,
  })
}

const nounFor: Readonly<Record<string, string>> = {
  object: 'an object',
  function: 'a function',
  symbol: 'a symbol',
}

/**
 * Throws an error with the place of what an item cannot have in it: a bigint, and what `JSON.stringify` turns into
 * null, which is NaN, Infinity, an invalid date, and undefined in a list.
 */
function refuseWithPlace(item: unknown): void {
  const places = new Map<unknown, string>()
  /** `value` is the value after `toJSON`. */
  function look(this: unknown, key: string, value: unknown): unknown {
    const around = places.get(this)
    const place = around === undefined ? '' : placeIn(around, this, key)
    if (typeof value === 'object' && value !== null) places.set(value, place)
    const fault = faultOf(this, key, value)
    if (fault === undefined) return value
    const where = around === undefined ? 'is' : `has, at ${place},`
    throw new PushPopError('NOT_JSON', `Cannot push this item because it ${where} ${fault}`, {
      field: 'item',
    })
  }
  try {
    JSON.stringify(item, look)
  } catch (error) {
    // Anything else, such as a cycle, has no place to tell.
    if (error instanceof PushPopError) throw error
  }
}

/** `a.b[1]`, and `a["b c"]` */
function placeIn(around: string, holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `${around}[${key}]`
  if (!/^[\w$]+$/.test(key)) return `${around}[${JSON.stringify(key)}]`
  return around === '' ? key : `${around}.${key}`
}

function faultOf(holder: unknown, key: string, value: unknown): string | undefined {
  const given = (holder as Readonly<Record<string, unknown>>)[key]
  if (typeof value === 'bigint') return 'a bigint that JSON cannot say'
  const plain = value instanceof Number ? Number(value) : value
  const isNoNumber = typeof plain === 'number' && !Number.isFinite(plain)
  const isNothing = value === undefined || typeof value === 'function' || typeof value === 'symbol'
  const isMadeNull = value === null && given !== null
  if (!isNoNumber && !isMadeNull && !(isNothing && Array.isArray(holder))) return undefined
  const what = isNoNumber || isMadeNull ? String(isNoNumber ? plain : given) : typeof value
  return `${what}, which JSON would turn into null`
}

/**
 * The texts of the values in the list `items` of an answer that `JSON.parse` has accepted. The
 * service puts the list first, and an item is behind at least one bracket, so the first
 * `"items":[` is the list.
 */
export function itemTexts(body: string): string[] {
  const start = /"items"\s*:\s*\[/.exec(body)
  if (start === null) return []
  const texts: string[] = []
  let depth = 0
  let from = start.index + start[0].length
  for (let at = from; at < body.length; at += 1) {
    const character = body[at]
    if (character === '"') at = endOfString(body, at)
    else if (character === '[' || character === '{') depth += 1
    else if (depth === 0 && (character === ',' || character === ']')) {
      const text = body.slice(from, at)
      if (texts.length > 0 || text.trim() !== '') texts.push(text)
      if (character === ']') return texts
      from = at + 1
    } else if (character === ']' || character === '}') depth -= 1
  }
  return texts
}

/** Where the string that begins here ends: at the first quote with an even number of `\` before it. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at)
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0 || at === -1) return at === -1 ? text.length : at
  }
}

/** The time in seconds. Refuses a value that is not a time; the error names the field. */
export function secondsOf(field: string, time: Date | number | undefined): number | undefined {
  if (time === undefined) return undefined
  const ms = time instanceof Date ? time.getTime() : time
  if (typeof ms !== 'number' || !Number.isFinite(ms)) throw noTime(field, `is ${String(time)}`)
  if (looksLikeSeconds(ms)) throw noTime(field, `${ms} looks like seconds`)
  return ms / 1_000
}

const noTime = (field: string, given: string): PushPopError =>
  new PushPopError(
    'INVALID_PARAMETER',
    `${field} must be a Date or milliseconds since 1970, and ${given}`,
    { field },
  )
