// The three kinds of expression, each parsed once for each set of names that it is used with; and the placeholders that
// come with them.

import { validationError } from '../errors.ts'
import { ingest, type Value } from '../values.ts'
import { type Condition, type KeyClause, parseCondition, parseKeyCondition } from './conditions.ts'
import { type Names, Parser, type ValueCheck, type Values } from './parser.ts'
import { parseUpdate, type Update } from './updates.ts'

export interface Parsed<T> {
  readonly meaning: T
  readonly checks: readonly ValueCheck[]
  readonly namesUsed: ReadonlySet<string>
  readonly valuesUsed: ReadonlySet<string>
}

const cacheMax = 4096

class ParseCache<T> {
  private readonly byExpression = new Map<string, Map<string, Parsed<T>>>()
  private readonly what: string
  private readonly parse: (parser: Parser) => T
  private entries = 0

  constructor(what: string, parse: (parser: Parser) => T) {
    this.what = what
    this.parse = parse
  }

  get(expression: string, names: Names): Parsed<T> {
    let variants = this.byExpression.get(expression)
    const key = namesKey(names)
    const known = variants?.get(key)
    if (known !== undefined) return known
    const parser = new Parser(expression, names, this.what)
    const meaning = this.parse(parser)
    const { checks, namesUsed, valuesUsed } = parser
    const parsed = { meaning, checks, namesUsed, valuesUsed }
    if (this.entries >= cacheMax) {
      this.byExpression.clear()
      this.entries = 0
      variants = undefined
    }
    if (variants === undefined) {
      variants = new Map()
      this.byExpression.set(expression, variants)
    }
    variants.set(key, parsed)
    this.entries++
    return parsed
  }
}

function namesKey(names: Names): string {
  let key = ''
  for (const alias in names) key += `${alias}\u0000${names[alias]}\u0000`
  return key
}

/**
 * All stores of a process share these: an expression's meaning depends only on its text and names, and a process may
 * simulate thousands of stores.
 */
export const expressions = {
  condition: new ParseCache<Condition>('ConditionExpression', parseCondition),
  keyCondition: new ParseCache<readonly KeyClause[]>('KeyConditionExpression', parseKeyCondition),
  update: new ParseCache<Update>('UpdateExpression', parseUpdate),
}

interface Placeholders {
  readonly names: Names
  readonly values: Values
}

const noNames: Names = Object.freeze({})
const noValues: Values = Object.freeze({})

export function readPlaceholders(input: {
  readonly ExpressionAttributeNames?: Record<string, string> | undefined
  readonly ExpressionAttributeValues?: Record<string, unknown> | undefined
}): Placeholders {
  return {
    names: readNames(input.ExpressionAttributeNames),
    values: readValues(input.ExpressionAttributeValues),
  }
}

function readNames(names: Names | undefined): Names {
  if (names === undefined) return noNames
  let any = false
  for (const alias in names) {
    any = true
    if (!/^#[A-Za-z0-9_]+$/.test(alias)) {
      throw validationError(
        `ExpressionAttributeNames contains invalid key: Syntax error; key: "${alias}"`,
      )
    }
    if (names[alias] === '') {
      throw validationError(`ExpressionAttributeNames contains invalid value: ""; key: "${alias}"`)
    }
  }
  if (!any) throw validationError('ExpressionAttributeNames must not be empty')
  return names
}

function readValues(values: Record<string, unknown> | undefined): Values {
  if (values === undefined) return noValues
  const copy: Record<string, Value> = {}
  let any = false
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue // dropped by the document client
    any = true
    if (!/^:[A-Za-z0-9_]+$/.test(name)) {
      throw validationError(
        `ExpressionAttributeValues contains invalid key: Syntax error; key: "${name}"`,
      )
    }
    copy[name] = ingest(value)
  }
  if (!any) throw validationError('ExpressionAttributeValues must not be empty')
  return copy
}

/** Every placeholder used is defined, every one defined is used, and the values fit. */
export function checkPlaceholders(
  { names, values }: Placeholders,
  expressions: readonly (Parsed<unknown> | undefined)[],
): void {
  for (const parsed of expressions) {
    if (parsed === undefined) continue
    for (const name of parsed.valuesUsed) {
      if (values[name] === undefined) {
        throw validationError(
          'Invalid expression: An expression attribute value used in expression is not defined; ' +
            `attribute value: ${name}`,
        )
      }
    }
    for (const check of parsed.checks) check(values)
  }
  for (const alias in names) {
    if (!expressions.some((parsed) => parsed?.namesUsed.has(alias))) {
      throw unused('ExpressionAttributeNames', alias)
    }
  }
  for (const name in values) {
    if (!expressions.some((parsed) => parsed?.valuesUsed.has(name))) {
      throw unused('ExpressionAttributeValues', name)
    }
  }
}

function unused(where: string, placeholder: string): Error {
  return validationError(`Value provided in ${where} unused in expressions: keys: {${placeholder}}`)
}
