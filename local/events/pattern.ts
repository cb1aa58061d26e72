// EventBridge's patterns, which filter the records of a stream as well. An object names fields; a
// list gives what a field may be, each entry a value or a comparison. Patterns are compiled once,
// because we compare each write to the table.

import { StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import { compileComparison } from './comparison.ts'

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
