// One entry of a pattern's list: a value, or one of EventBridge's comparisons.

import { StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import type { Predicate } from './pattern.ts'

export function compileComparison(field: string, entry: unknown): Predicate {
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
