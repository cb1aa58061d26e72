import { compare, equals, type Item, isList, isMap, typeOf, type Value } from '../value.ts'
import { type Parser, type Path, samePath, type ValueReference } from './parser.ts'
import { compilePath } from './path.ts'

/** ConditionExpression and KeyConditionExpression: parsed to a tree, then to closures. */

export type Values = Readonly<Record<string, Value>>
export type Condition = (item: Item, values: Values) => boolean
/** Refuses values that make the expression invalid whatever the item holds. */
export type ValueCheck = (values: Values) => void

export type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>='
export interface SizeOf {
  readonly kind: 'size'
  readonly of: Path | ValueReference
}
export type Operand = Path | ValueReference | SizeOf

export type ConditionNode =
  | { readonly kind: 'or' | 'and'; readonly left: ConditionNode; readonly right: ConditionNode }
  | { readonly kind: 'not'; readonly inner: ConditionNode }
  | {
      readonly kind: 'compare'
      readonly comparator: Comparator
      readonly left: Operand
      readonly right: Operand
    }
  | {
      readonly kind: 'between'
      readonly operand: Operand
      readonly low: Operand
      readonly high: Operand
    }
  | { readonly kind: 'exists'; readonly path: Path; readonly expected: boolean }
  | { readonly kind: 'contains'; readonly operand: Operand; readonly argument: Operand }

const comparators: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>='])
export function parseCondition(parser: Parser): ConditionNode {
  const node = parseOr(parser)
  parser.expectEnd()
  return node
}

function parseOr(parser: Parser): ConditionNode {
  let left = parseAnd(parser)
  while (parser.takeKeyword('OR')) {
    parser.countOperator()
    left = { kind: 'or', left, right: parseAnd(parser) }
  }
  return left
}

function parseAnd(parser: Parser): ConditionNode {
  let left = parseNot(parser)
  while (parser.takeKeyword('AND')) {
    parser.countOperator()
    left = { kind: 'and', left, right: parseNot(parser) }
  }
  return left
}

function parseNot(parser: Parser): ConditionNode {
  if (!parser.takeKeyword('NOT')) return parsePrimary(parser)
  parser.countOperator()
  return { kind: 'not', inner: parseNot(parser) }
}

function parsePrimary(parser: Parser): ConditionNode {
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
  const token = parser.peek()
  const after = parser.peekAfter()
  const call = token.kind === 'word' && after.kind === 'symbol' && after.text === '('
  if (call && token.text !== 'size') return parseFunction(parser, token.text)
  return parseComparison(parser)
}

function parseFunction(parser: Parser, name: string): ConditionNode {
  parser.next()
  parser.next()
  parser.countOperator()
  const node = parseCall(parser, name)
  parser.expect(')')
  return node
}

function parseCall(parser: Parser, name: string): ConditionNode {
  switch (name) {
    case 'attribute_exists':
      return { kind: 'exists', path: parsePathOnly(parser, name), expected: true }
    case 'attribute_not_exists':
      return { kind: 'exists', path: parsePathOnly(parser, name), expected: false }
    case 'contains': {
      const operand = parseOperand(parser)
      parser.expect(',')
      const argument = parseOperand(parser)
      refuseSame(parser, name, operand, argument)
      return { kind: 'contains', operand, argument }
    }
    default:
      throw parser.invalid(`Invalid function name; function: ${name}`)
  }
}

function parsePathOnly(parser: Parser, name: string): Path {
  if (parser.peek().kind === 'value') {
    throw parser.invalid(
      `Operator or function requires a document path; operator or function: ${name}`,
    )
  }
  return parser.path()
}

function parseComparison(parser: Parser): ConditionNode {
  const operand = parseOperand(parser)
  if (parser.takeKeyword('BETWEEN')) {
    parser.countOperator()
    const low = parseOperand(parser)
    if (!parser.takeKeyword('AND')) throw parser.syntaxError()
    return { kind: 'between', operand, low, high: parseOperand(parser) }
  }
  const token = parser.next()
  if (token.kind !== 'symbol' || !comparators.has(token.text)) throw parser.syntaxError()
  parser.countOperator()
  const right = parseOperand(parser)
  refuseSame(parser, token.text, operand, right)
  return { kind: 'compare', comparator: token.text as Comparator, left: operand, right }
}

function refuseSame(parser: Parser, name: string, left: Operand, right: Operand): void {
  if (left.kind === 'path' && right.kind === 'path' && samePath(left, right)) {
    throw parser.invalid(
      'The first operand must be distinct from the remaining operands for this operator or ' +
        `function; operator: ${name}`,
    )
  }
}

function parseOperand(parser: Parser): Operand {
  const token = parser.peek()
  if (token.kind === 'value') return parser.value()
  const after = parser.peekAfter()
  if (token.kind === 'word' && after.kind === 'symbol' && after.text === '(') {
    if (token.text !== 'size') {
      throw parser.invalid(`The function is not allowed here; function: ${token.text}`)
    }
    parser.next()
    parser.next()
    parser.countOperator()
    const of = parser.peek().kind === 'value' ? parser.value() : parser.path()
    parser.expect(')')
    return { kind: 'size', of }
  }
  return parser.path()
}

type Read = (item: Item, values: Values) => Value | undefined

export function compileOperand(operand: Operand): Read {
  switch (operand.kind) {
    case 'value': {
      const { name } = operand
      return (_item, values) => values[name]
    }
    case 'path':
      return compilePath(operand.steps)
    case 'size': {
      const read = compileOperand(operand.of)
      return (item, values) => sizeOf(read(item, values))
    }
  }
}

function sizeOf(value: Value | undefined): number | undefined {
  if (typeof value === 'string') return [...value].length
  if (isList(value)) return value.length
  if (value instanceof Uint8Array) return value.byteLength
  return isMap(value) ? Object.keys(value).length : undefined
}

export function compileCondition(node: ConditionNode): Condition {
  switch (node.kind) {
    case 'or': {
      const left = compileCondition(node.left)
      const right = compileCondition(node.right)
      return (item, values) => left(item, values) || right(item, values)
    }
    case 'and': {
      const left = compileCondition(node.left)
      const right = compileCondition(node.right)
      return (item, values) => left(item, values) && right(item, values)
    }
    case 'not': {
      const inner = compileCondition(node.inner)
      return (item, values) => !inner(item, values)
    }
    case 'compare':
      return compileComparison(node.comparator, node.left, node.right)
    case 'between': {
      const atLeast = compileComparison('>=', node.operand, node.low)
      const atMost = compileComparison('<=', node.operand, node.high)
      return (item, values) => atLeast(item, values) && atMost(item, values)
    }
    case 'exists': {
      const read = compilePath(node.path.steps)
      const { expected } = node
      return (item) => (read(item) !== undefined) === expected
    }
    case 'contains': {
      const whole = compileOperand(node.operand)
      const part = compileOperand(node.argument)
      return (item, values) => {
        const [a, b] = [whole(item, values), part(item, values)]
        return a !== undefined && b !== undefined && contains(a, b)
      }
    }
  }
}

function contains(value: Value, part: Value): boolean {
  if (typeof value === 'string') return typeof part === 'string' && value.includes(part)
  if (isList(value)) return value.some((entry) => equals(entry, part))
  if (!(value instanceof Uint8Array && part instanceof Uint8Array)) return false
  return Buffer.from(value).includes(Buffer.from(part))
}

function compileComparison(comparator: Comparator, left: Operand, right: Operand): Condition {
  const readLeft = compileOperand(left)
  const readRight = compileOperand(right)
  const test = comparisons[comparator]
  return (item, values) => test(readLeft(item, values), readRight(item, values))
}

function orderedBy(
  holds: (order: number) => boolean,
): (a: Value | undefined, b: Value | undefined) => boolean {
  return (a, b) => {
    if (a === undefined || b === undefined) return false
    const order = compare(a, b)
    return order !== undefined && holds(order)
  }
}

const comparisons: Readonly<
  Record<Comparator, (a: Value | undefined, b: Value | undefined) => boolean>
> = {
  '=': (a, b) => a !== undefined && b !== undefined && equals(a, b),
  // Not the same, so true also for a missing attribute and for another type.
  '<>': (a, b) => a === undefined || b === undefined || !equals(a, b),
  '<': orderedBy((order) => order < 0),
  '<=': orderedBy((order) => order <= 0),
  '>': orderedBy((order) => order > 0),
  '>=': orderedBy((order) => order >= 0),
}

/** What is wrong with the values alone, found before any item is looked at. */
export function checkCondition(node: ConditionNode, parser: Parser): ValueCheck[] {
  switch (node.kind) {
    case 'or':
    case 'and':
      return [...checkCondition(node.left, parser), ...checkCondition(node.right, parser)]
    case 'not':
      return checkCondition(node.inner, parser)
    case 'compare':
      if (node.comparator === '=' || node.comparator === '<>') return []
      return [node.left, node.right].flatMap((one) => ordered(one, node.comparator))
    case 'between':
      return [
        ...[node.operand, node.low, node.high].flatMap((one) => ordered(one, 'BETWEEN')),
        boundsInOrder(node.low, node.high),
      ]
    default:
      return []
  }

  /** Only strings, numbers and bytes have an order. */
  function ordered(operand: Operand, operator: string): ValueCheck[] {
    if (operand.kind !== 'value') return []
    return [
      (values) => {
        const value = values[operand.name]
        if (value !== undefined && !['S', 'N', 'B'].includes(typeOf(value))) {
          throw parser.invalid(
            'Incorrect operand type for operator or function; operator or function: ' +
              `${operator}, operand type: ${typeOf(value)}`,
          )
        }
      },
    ]
  }

  function boundsInOrder(low: Operand, high: Operand): ValueCheck {
    return (values) => {
      if (low.kind !== 'value' || high.kind !== 'value') return
      const order = compare(values[low.name] as Value, values[high.name] as Value)
      if (order === undefined || order > 0) {
        throw parser.invalid(
          'The BETWEEN operator requires upper bound to be greater than or equal to lower bound ' +
            'of the same type;',
        )
      }
    }
  }
}
