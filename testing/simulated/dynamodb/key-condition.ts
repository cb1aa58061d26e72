import { validationError } from './errors.ts'
import { requireBounds } from './expression/condition.ts'
import type { Parser, Values } from './expression/parser.ts'
import { compare, type Value } from './value.ts'

/**
 * KeyConditionExpression: one value of the hash key, and at most one stretch of the sort key. Those that
 * PushPop asks for: DynamoDB knows more.
 */

export interface KeyRange {
  readonly hash: Value
  /** The values the sort key is compared with, for checking their type. */
  readonly bounds: readonly Value[]
  /** Negative before the stretch, 0 within it, positive after it. */
  place(value: Value): number
}

export interface KeyClause {
  readonly name: string
  readonly operator: '=' | '<' | '<=' | 'BETWEEN'
  /** Names of values: one, or two for BETWEEN. */
  readonly bounds: readonly string[]
}

export function parseKeyCondition(parser: Parser): readonly KeyClause[] {
  const clauses = [parseClause(parser)]
  while (parser.takeKeyword('AND')) clauses.push(parseClause(parser))
  parser.expectEnd()
  return clauses
}

function parseClause(parser: Parser): KeyClause {
  const [name, ...below] = parser.path().steps
  if (typeof name !== 'string' || below.length > 0) {
    throw parser.invalid('A key attribute is expected;')
  }
  if (parser.takeKeyword('BETWEEN')) {
    const low = parser.value().name
    if (!parser.takeKeyword('AND')) throw parser.syntaxError()
    const high = parser.value().name
    requireBounds(parser, low, high)
    return { name, operator: 'BETWEEN', bounds: [low, high] }
  }
  const operator = (['=', '<', '<='] as const).find((symbol) => parser.take(symbol))
  if (operator === undefined) throw parser.syntaxError()
  return { name, operator, bounds: [parser.value().name] }
}

export function rangeOf(
  clauses: readonly KeyClause[],
  values: Values,
  hashName: string,
  rangeName: string,
): KeyRange {
  const [hash, ...hashesToo] = clauses.filter(({ name }) => name === hashName)
  const [range, ...rangesToo] = clauses.filter(({ name }) => name === rangeName)
  const isElsewhere = clauses.some(({ name }) => name !== hashName && name !== rangeName)
  if (hash === undefined || isElsewhere) {
    throw validationError(`Query condition missed key schema element: ${hashName}`)
  }
  if (hash.operator !== '=' || hashesToo.length > 0 || rangesToo.length > 0) {
    throw validationError('Query key condition not supported')
  }
  const bounds = (range?.bounds ?? []).map((name) => values[name] as Value)
  return {
    hash: values[hash.bounds[0] as string] as Value,
    bounds,
    place: range === undefined ? () => 0 : placeBy(range.operator, bounds),
  }
}

function placeBy(operator: KeyClause['operator'], bounds: readonly Value[]): KeyRange['place'] {
  const [low, high = low] = bounds as [Value, Value?]
  const order = (value: Value, bound: Value) => compare(value, bound) ?? Number.NaN
  switch (operator) {
    case '<':
      return (value) => (order(value, low) < 0 ? 0 : 1)
    case '<=':
      return (value) => (order(value, low) <= 0 ? 0 : 1)
    case '=':
    case 'BETWEEN':
      return (value) => (order(value, low) < 0 ? -1 : order(value, high) > 0 ? 1 : 0)
  }
}
