// EventBridge's small languages. Patterns, which filter the records of streams and the messages of queues as well: an
// object names fields, and a list gives what a field may be, each entry a value or a comparison. They are compiled
// once, because we compare each write to the table. And input transformers, which turn an event into its target's
// input.

import { StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'

export type Predicate = (value: unknown) => boolean

export function compilePattern(pattern: Readonly<Record<string, unknown>>): Predicate {
  const conditions = Object.entries(pattern).map(([field, wanted]): Predicate => {
    if (field === '$or') return anyOf(wanted)
    const fits = compileField(field, wanted)
    // Check absent fields, too, because of `exists: false`.
    return (value) =>
      fits(isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined)
  })
  return (value) => conditions.every((fits) => fits(value))
}

function anyOf(patterns: unknown): Predicate {
  if (!Array.isArray(patterns) || !patterns.every(isObject)) {
    throw new StartError('Cannot use the event pattern because its $or is not a list of patterns')
  }
  const alternatives = patterns.map(compilePattern)
  return (value) => alternatives.some((fits) => fits(value))
}

function compileField(field: string, wanted: unknown): Predicate {
  if (isObject(wanted)) return compilePattern(wanted)
  if (!Array.isArray(wanted) || wanted.length === 0) {
    throw new StartError(
      `Cannot use the event pattern because what it wants of ${field} is not a list: ${JSON.stringify(wanted)}`,
    )
  }
  const alternatives = wanted.map((entry) => compileComparison(field, entry))
  return (value) => {
    // If the value is a list, one of its entries has to fit.
    const values = Array.isArray(value) ? value : [value]
    return values.some((one) => alternatives.some((fits) => fits(one)))
  }
}

export type InputTransformer = {
  /** By the name of a variable, where its value is: `$.detail.queue`. */
  readonly paths: Readonly<Record<string, string>>
  /** Text, mostly JSON, with variables in it: `{"item":<detail>}`. */
  readonly template: string
}

function compileComparison(field: string, entry: unknown): Predicate {
  if (!isObject(entry)) return (value) => value === entry
  const [[name, argument] = ['nothing', undefined], ...more] = Object.entries(entry)
  const compile = more.length === 0 ? comparisons[name] : undefined
  const predicate = compile?.(argument)
  if (predicate) return predicate
  throw new StartError(
    `Cannot use the event pattern because the local stack does not know what it wants of ${field}: ` +
      JSON.stringify(entry),
  )
}

/** `undefined` for an argument that the comparison does not take. */
type Compile = (argument: unknown) => Predicate | undefined

const comparisons: Readonly<Record<string, Compile>> = {
  // For leaves only: for an object neither is true.
  exists: (argument) => {
    if (argument === true) return (value) => value !== undefined && !isObject(value)
    return argument === false ? (value) => value === undefined : undefined
  },
  prefix: (argument) => ofText(argument, (text, start) => text.startsWith(start)),
  suffix: (argument) => ofText(argument, (text, end) => text.endsWith(end)),
  'equals-ignore-case': (argument) =>
    typeof argument === 'string'
      ? (value) => typeof value === 'string' && value.toLowerCase() === argument.toLowerCase()
      : undefined,
  wildcard: (argument) => {
    if (typeof argument !== 'string') return undefined
    const expression = wildcard(argument)
    return (value) => typeof value === 'string' && expression.test(value)
  },
  numeric: (argument) => numeric(argument),
  'anything-but': (argument) => anythingBut(argument),
}

/** The text itself, or `{"equals-ignore-case": text}`. */
function ofText(argument: unknown, holds: (text: string, part: string) => boolean) {
  if (typeof argument === 'string') {
    return (value: unknown) => typeof value === 'string' && holds(value, argument)
  }
  const part = isObject(argument) ? argument['equals-ignore-case'] : undefined
  if (typeof part !== 'string') return undefined
  const lower = part.toLowerCase()
  return (value: unknown) => typeof value === 'string' && holds(value.toLowerCase(), lower)
}

function anythingBut(argument: unknown): Predicate | undefined {
  const isThere = (value: unknown) => value !== undefined && !isObject(value)
  if (isObject(argument)) {
    const [[name, inner] = ['', undefined]] = Object.entries(argument)
    if (name === 'exists' || name === 'numeric' || name === 'anything-but') return undefined
    const excluded = (Array.isArray(inner) ? inner : [inner]).map((one) => comparisons[name]?.(one))
    if (!excluded.every((fits) => fits !== undefined)) return undefined
    return (value) => isThere(value) && !excluded.some((fits) => fits(value))
  }
  const excluded: readonly unknown[] = Array.isArray(argument) ? argument : [argument]
  return (value) => isThere(value) && !excluded.includes(value)
}

const relations: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '=': (a, b) => a === b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
}

/** `[">", 0, "<=", 5]`. Of numbers only: what DynamoDB calls a number is text in a record. */
function numeric(argument: unknown): Predicate | undefined {
  if (!Array.isArray(argument) || argument.length === 0 || argument.length % 2 !== 0) {
    return undefined
  }
  const bounds: ((value: number) => boolean)[] = []
  for (let at = 0; at < argument.length; at += 2) {
    const relation = relations[String(argument[at])]
    const bound: unknown = argument[at + 1]
    if (!relation || typeof bound !== 'number') return undefined
    bounds.push((value) => relation(value, bound))
  }
  return (value) => typeof value === 'number' && bounds.every((holds) => holds(value))
}

/** `*` stands for any characters, and `\*` for itself. */
function wildcard(pattern: string): RegExp {
  const source = pattern.replace(/\\([*\\])|(\*)|[.+?^${}()|[\]\\/]/g, (found, literal, star) =>
    literal ? `\\${literal}` : star ? '[\\s\\S]*' : `\\${found}`,
  )
  return new RegExp(`^${source}$`)
}

type BusEvent = Readonly<Record<string, unknown>>

/** The variables that EventBridge makes by itself, and that are the same here. */
const WHOLE_EVENT = 'aws.events.event.json'

/**
 * A variable within a string of the template is text; anywhere else it is JSON. A value that the event lacks is null
 * there, and nothing within a string.
 */
export function transformed({ paths, template }: InputTransformer, event: BusEvent): string {
  let isInString = false
  return template.replaceAll(/\\.|"|<([\w.-]+)>/g, (found, name: string | undefined) => {
    if (found === '"') isInString = !isInString
    if (name === undefined) return found
    const value = name === WHOLE_EVENT ? event : valueAt(event, paths[name])
    if (!isInString) return JSON.stringify(value ?? null)
    const text =
      typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
    return JSON.stringify(text).slice(1, -1)
  })
}

/** `$.detail.queue`; the whole event for `$`. */
export const valueAt = (event: BusEvent, path: string | undefined): unknown =>
  path
    ?.split('.')
    .slice(1)
    .reduce<unknown>((value, field) => (isObject(value) ? value[field] : undefined), event)
