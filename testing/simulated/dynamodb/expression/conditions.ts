// ConditionExpression, read into closures as each part of it is parsed; and what of KeyConditionExpression PushPop uses
// (DynamoDB knows more): one value of the hash key, and at most one stretch of the sort key.

import { validationError } from '../errors.ts'
import { compare, equals, type Item, isList, isMap, typeOf, type Value } from '../values.ts'
import { compilePath, type Parser, type Path, samePath, type Values } from './parser.ts'

export type Condition = (item: Item, values: Values) => boolean

type Read = (item: Item, values: Values) => Value | undefined

/** One side of a comparison; some rules need to know its path, or the name of its value. */
interface Operand {
  readonly read: Read
  readonly path?: Path
  readonly value?: string
}

export function parseCondition(parser: Parser): Condition {
  const condition = parseOr(parser)
  parser.expectEnd()
  return condition
}

function parseOr(parser: Parser): Condition {
  let all = parseAnd(parser)
  while (parser.takeKeyword('OR')) {
    parser.countOperator()
    const [left, right] = [all, parseAnd(parser)]
    all = (item, values) => left(item, values) || right(item, values)
  }
  return all
}

function parseAnd(parser: Parser): Condition {
  let all = parseNot(parser)
  while (parser.takeKeyword('AND')) {
    parser.countOperator()
    const [left, right] = [all, parseNot(parser)]
    all = (item, values) => left(item, values) && right(item, values)
  }
  return all
}

function parseNot(parser: Parser): Condition {
  if (!parser.takeKeyword('NOT')) return parsePrimary(parser)
  parser.countOperator()
  const inner = parseNot(parser)
  return (item, values) => !inner(item, values)
}

function parsePrimary(parser: Parser): Condition {
  if (parser.take('(')) {
    const redundant = parser.isSymbol('(')
    const inner = parseOr(parser)
    parser.expect(')')
    // "((a = :a))" is refused, "((a = :a) AND b = :b)" is not.
    if (redundant && parser.inParentheses.has(inner)) {
      throw parser.invalid('The expression has redundant parentheses;')
    }
    parser.inParentheses.add(inner)
    return inner
  }
  const name = parser.peekCall()
  return name === undefined || name === 'size'
    ? parseComparison(parser)
    : parseFunction(parser, name)
}

function parseFunction(parser: Parser, name: string): Condition {
  parser.takeCall()
  const condition = parseArguments(parser, name)
  parser.expect(')')
  return condition
}

function parseArguments(parser: Parser, name: string): Condition {
  switch (name) {
    case 'attribute_exists':
    case 'attribute_not_exists': {
      if (parser.peek().kind === 'value') throw parser.pathRequired(name)
      const read = compilePath(parser.path().steps)
      const expected = name === 'attribute_exists'
      return (item) => (read(item) !== undefined) === expected
    }
    case 'contains': {
      const whole = parseOperand(parser)
      parser.expect(',')
      const part = parseOperand(parser)
      refuseSame(parser, name, whole, part)
      return (item, values) => {
        const [a, b] = [whole.read(item, values), part.read(item, values)]
        return a !== undefined && b !== undefined && contains(a, b)
      }
    }
    default:
      throw parser.invalid(`Invalid function name; function: ${name}`)
  }
}

function contains(value: Value, part: Value): boolean {
  if (typeof value === 'string') return typeof part === 'string' && value.includes(part)
  if (isList(value)) return value.some((entry) => equals(entry, part))
  if (!(value instanceof Uint8Array && part instanceof Uint8Array)) return false
  return Buffer.from(value).includes(Buffer.from(part))
}

function parseComparison(parser: Parser): Condition {
  const left = parseOperand(parser)
  if (parser.takeKeyword('BETWEEN')) {
    parser.countOperator()
    const low = parseOperand(parser)
    if (!parser.takeKeyword('AND')) throw parser.syntaxError()
    const high = parseOperand(parser)
    for (const operand of [left, low, high]) requireOrdered(parser, operand, 'BETWEEN')
    if (low.value !== undefined && high.value !== undefined) {
      requireBounds(parser, low.value, high.value)
    }
    const [atLeast, atMost] = [compared(left, '>=', low), compared(left, '<=', high)]
    return (item, values) => atLeast(item, values) && atMost(item, values)
  }
  const token = parser.next()
  if (token.kind !== 'symbol' || !isComparator(token.text)) throw parser.syntaxError()
  parser.countOperator()
  const right = parseOperand(parser)
  refuseSame(parser, token.text, left, right)
  if (token.text !== '=' && token.text !== '<>') {
    for (const operand of [left, right]) requireOrdered(parser, operand, token.text)
  }
  return compared(left, token.text, right)
}

function parseOperand(parser: Parser): Operand {
  if (parser.peek().kind === 'value') {
    const { name } = parser.value()
    return { value: name, read: (_item, values) => values[name] }
  }
  const name = parser.peekCall()
  if (name === undefined) {
    const path = parser.path()
    return { path, read: compilePath(path.steps) }
  }
  if (name !== 'size') {
    throw parser.invalid(`The function is not allowed here; function: ${name}`)
  }
  parser.takeCall()
  if (parser.peekCall() !== undefined) throw parser.syntaxError()
  const { read, value: measured } = parseOperand(parser)
  parser.expect(')')
  if (measured !== undefined) {
    parser.checks.push((values) => {
      const value = values[measured]
      if (value !== undefined && sizeOf(value) === undefined)
        throw parser.wrongOperand('size', typeOf(value))
    })
  }
  return { read: (item, values) => sizeOf(read(item, values)) }
}

function sizeOf(value: Value | undefined): number | undefined {
  if (typeof value === 'string') return [...value].length
  if (isList(value)) return value.length
  if (value instanceof Uint8Array) return value.byteLength
  return isMap(value) ? Object.keys(value).length : undefined
}

function refuseSame(parser: Parser, name: string, left: Operand, right: Operand): void {
  if (left.path === undefined || right.path === undefined) return
  if (!samePath(left.path, right.path)) return
  throw parser.invalid(
    'The first operand must be distinct from the remaining operands for this operator or ' +
      `function; operator: ${name}`,
  )
}

/** Only strings, numbers and bytes have an order. */
function requireOrdered(parser: Parser, { value: name }: Operand, operator: string): void {
  if (name === undefined) return
  parser.checks.push((values) => {
    const value = values[name]
    if (value !== undefined && !['S', 'N', 'B'].includes(typeOf(value))) {
      throw parser.wrongOperand(operator, typeOf(value))
    }
  })
}

function requireBounds(parser: Parser, low: string, high: string): void {
  parser.checks.push((values) => {
    const order = compare(values[low] as Value, values[high] as Value)
    if (order === undefined || order > 0) {
      throw parser.invalid(
        'The BETWEEN operator requires upper bound to be greater than or equal to lower bound ' +
          'of the same type;',
      )
    }
  })
}

function compared(left: Operand, comparator: Comparator, right: Operand): Condition {
  const test = comparisons[comparator]
  return (item, values) => test(left.read(item, values), right.read(item, values))
}

type Comparison = (a: Value | undefined, b: Value | undefined) => boolean

function orderedBy(holds: (order: number) => boolean): Comparison {
  return (a, b) => {
    if (a === undefined || b === undefined) return false
    const order = compare(a, b)
    return order !== undefined && holds(order)
  }
}

const comparisons = {
  '=': (a, b) => a !== undefined && b !== undefined && equals(a, b),
  // True if the two differ, so also for a missing attribute or another type.
  '<>': (a, b) => a === undefined || b === undefined || !equals(a, b),
  '<': orderedBy((order) => order < 0),
  '<=': orderedBy((order) => order <= 0),
  '>': orderedBy((order) => order > 0),
  '>=': orderedBy((order) => order >= 0),
} as const satisfies Record<string, Comparison>

type Comparator = keyof typeof comparisons

const isComparator = (text: string): text is Comparator => Object.hasOwn(comparisons, text)

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
