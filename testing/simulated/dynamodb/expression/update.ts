import { validationError } from '../errors.ts'
import { attributeSize, entryBytes, textBytes, valueSize } from '../item-size.ts'
import { type Item, isList, isMap, typeOf, type Value } from '../value.ts'
import type { ValueCheck, Values } from './condition.ts'
import type { Parser, Path, PathStep, ValueReference } from './parser.ts'
import { compilePath } from './path.ts'

/**
 * UpdateExpression. The actions are arranged as a tree of paths, so that an update copies each
 * container on the way once, shares the rest, and knows by how much the item grew without
 * measuring it again.
 */

type Expression =
  | Path
  | ValueReference
  | { readonly kind: 'if_not_exists'; readonly path: Path; readonly fallback: Expression }
  | { readonly kind: 'list_append'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: '+' | '-'; readonly left: Expression; readonly right: Expression }

type Evaluate = (item: Item, values: Values) => Value

type Action =
  | { readonly kind: 'set' | 'add'; readonly evaluate: Evaluate; readonly appended?: Appended }
  | { readonly kind: 'remove' }

/** For `SET p = list_append(p, x)`: evaluates x alone, whose size is all that is added. */
interface Appended {
  readonly evaluate: Evaluate
}

interface Branch {
  action?: Action
  readonly children: Map<PathStep, Branch>
}

export interface Update {
  readonly topLevelNames: readonly string[]
  /** Nothing but removals: does not make an item that is missing. */
  readonly removesOnly: boolean
  readonly checks: readonly ValueCheck[]
  apply(item: Item, values: Values): { readonly item: Item; readonly grownBytes: number }
}

const sections = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const

export function parseUpdate(parser: Parser): Update {
  const root: Branch = { children: new Map() }
  const checks: ValueCheck[] = []
  const seen = new Set<string>()
  const plant = (path: Path, action: Action): void => insert(parser, root, path, action)
  while (parser.peek().kind !== 'end') {
    const section = sections.find((keyword) => parser.takeKeyword(keyword))
    if (section === undefined) throw parser.syntaxError()
    if (seen.has(section)) {
      throw parser.invalid(
        `The "${section}" section can only be used once in an update expression;`,
      )
    }
    seen.add(section)
    do parseAction(parser, section, plant, checks)
    while (parser.take(','))
  }
  const topLevelNames = [...root.children.keys()].map(String)
  return {
    topLevelNames,
    removesOnly: seen.size === 1 && seen.has('REMOVE'),
    checks,
    apply(item, values) {
      const growth = { bytes: 0 }
      return { item: applyToItem(item, root, item, values, growth), grownBytes: growth.bytes }
    },
  }
}

function parseAction(
  parser: Parser,
  section: (typeof sections)[number],
  plant: (path: Path, action: Action) => void,
  checks: ValueCheck[],
): void {
  const path = parser.path()
  switch (section) {
    case 'SET': {
      parser.expect('=')
      const expression = parseSum(parser, checks)
      plant(path, { kind: 'set', ...compileSet(path, expression) })
      return
    }
    case 'REMOVE':
      plant(path, { kind: 'remove' })
      return
    case 'ADD': {
      parser.countOperator()
      const { name } = parser.value()
      checks.push((values) => requireType(parser, values, name, 'N', 'ADD'))
      const read = compilePath(path.steps)
      plant(path, {
        kind: 'add',
        evaluate: (item, values) => {
          const value = read(item)
          return sum(value === undefined ? 0 : value, values[name] as Value, 1)
        },
      })
      return
    }
    case 'DELETE':
      throw parser.invalid('The simulated store has no sets, and so no DELETE section;')
  }
}

function requireType(
  parser: Parser,
  values: Values,
  name: string,
  type: 'N' | 'L',
  operator: string,
): void {
  const value = values[name]
  if (value !== undefined && typeOf(value) !== type) {
    throw parser.invalid(
      'Incorrect operand type for operator or function; operator or function: ' +
        `${operator}, operand type: ${typeOf(value)}`,
    )
  }
}

function parseSum(parser: Parser, checks: ValueCheck[]): Expression {
  const left = parseTerm(parser, checks)
  const kind = parser.take('+') ? '+' : parser.take('-') ? '-' : undefined
  if (kind === undefined) return left
  parser.countOperator()
  const right = parseTerm(parser, checks)
  for (const operand of [left, right]) {
    if (operand.kind === 'list_append') {
      throw parser.invalid(`Incorrect operand type for operator or function; operator: ${kind}`)
    }
    if (operand.kind === 'value') {
      checks.push((values) => requireType(parser, values, operand.name, 'N', kind))
    }
  }
  return { kind, left, right }
}

function parseTerm(parser: Parser, checks: ValueCheck[]): Expression {
  const token = parser.peek()
  if (token.kind === 'value') return parser.value()
  if (parser.take('(')) {
    const inner = parseSum(parser, checks)
    parser.expect(')')
    return inner
  }
  const after = parser.peekAfter()
  if (token.kind === 'word' && after.kind === 'symbol' && after.text === '(') {
    return parseFunction(parser, token.text, checks)
  }
  return parser.path()
}

function parseFunction(parser: Parser, name: string, checks: ValueCheck[]): Expression {
  parser.next()
  parser.next()
  parser.countOperator()
  const call = parseCall(parser, name, checks)
  parser.expect(')')
  return call
}

function parseCall(parser: Parser, name: string, checks: ValueCheck[]): Expression {
  if (name === 'if_not_exists') {
    if (parser.peek().kind === 'value') {
      throw parser.invalid(
        `Operator or function requires a document path; operator or function: ${name}`,
      )
    }
    const path = parser.path()
    parser.expect(',')
    return { kind: 'if_not_exists', path, fallback: parseTerm(parser, checks) }
  }
  if (name === 'list_append') {
    const left = parseTerm(parser, checks)
    parser.expect(',')
    const right = parseTerm(parser, checks)
    for (const operand of [left, right]) {
      if (operand.kind !== 'value') continue
      checks.push((values) => requireType(parser, values, operand.name, 'L', name))
    }
    return { kind: 'list_append', left, right }
  }
  throw parser.invalid(`Invalid function name; function: ${name}`)
}

function insert(parser: Parser, root: Branch, path: Path, action: Action): void {
  let branch = root
  for (const step of path.steps) {
    if (branch.action !== undefined) throw overlap(parser)
    for (const sibling of branch.children.keys()) {
      if (typeof sibling !== typeof step) {
        throw parser.invalid('Two document paths conflict with each other;')
      }
      break
    }
    let child = branch.children.get(step)
    if (child === undefined) {
      child = { children: new Map() }
      branch.children.set(step, child)
    }
    branch = child
  }
  if (branch.action !== undefined || branch.children.size > 0) throw overlap(parser)
  branch.action = action
}

function overlap(parser: Parser): Error {
  return parser.invalid(
    'Two document paths overlap with each other; must remove or rewrite one of these paths;',
  )
}

function compileSet(
  path: Path,
  expression: Expression,
): { evaluate: Evaluate; appended?: Appended } {
  const evaluate = compile(expression)
  if (expression.kind !== 'list_append') return { evaluate }
  const { left, right } = expression
  if (!readsOldList(left, path)) return { evaluate }
  return { evaluate, appended: { evaluate: compile(right) } }
}

function readsOldList(expression: Expression, path: Path): boolean {
  if (expression.kind === 'if_not_exists') return readsOldList(expression.path, path)
  if (expression.kind !== 'path' || expression.steps.length !== path.steps.length) return false
  return expression.steps.every((step, i) => step === path.steps[i])
}

function compile(expression: Expression): Evaluate {
  switch (expression.kind) {
    case 'value': {
      const { name } = expression
      return (_item, values) => values[name] as Value
    }
    case 'path': {
      const read = compilePath(expression.steps)
      return (item) => {
        const value = read(item)
        if (value === undefined) {
          throw validationError(
            'The provided expression refers to an attribute that does not exist in the item',
          )
        }
        return value
      }
    }
    case 'if_not_exists': {
      const read = compilePath(expression.path.steps)
      const fallback = compile(expression.fallback)
      return (item, values) => {
        const value = read(item)
        return value === undefined ? fallback(item, values) : value // a stored null is not missing
      }
    }
    case 'list_append': {
      const left = compile(expression.left)
      const right = compile(expression.right)
      return (item, values) => append(left(item, values), right(item, values))
    }
    case '+':
    case '-': {
      const left = compile(expression.left)
      const right = compile(expression.right)
      const sign = expression.kind === '+' ? 1 : -1
      return (item, values) => sum(left(item, values), right(item, values), sign)
    }
  }
}

function append(left: Value, right: Value): Value {
  if (!isList(left) || !isList(right)) throw wrongType()
  return Object.freeze(left.concat(right))
}

function sum(left: Value, right: Value, sign: 1 | -1): number {
  if (typeof left !== 'number' || typeof right !== 'number') throw wrongType()
  if (!Number.isInteger(left) || !Number.isInteger(right)) {
    throw new Error(`Cannot add ${left} and ${right} because only whole numbers are simulated`)
  }
  return left + sign * right
}

function wrongType(): Error {
  return validationError('An operand in the update expression has an incorrect data type')
}

interface Growth {
  bytes: number
}

function applyToItem(old: Item, branch: Branch, root: Item, values: Values, growth: Growth): Item {
  return applyToMap(old, branch, root, values, growth, 0)
}

function applyToMap(
  old: Item,
  branch: Branch,
  root: Item,
  values: Values,
  growth: Growth,
  perEntryBytes: number,
): Item {
  const { copy, removed } = copyWithoutRemoved(old, branch)
  for (const [step, child] of branch.children) {
    const name = step as string
    const before = Object.hasOwn(old, name) ? old[name] : undefined
    const after = applyChild(before, child, root, values, growth)
    if (after === undefined) continue
    copy[name] = after
    if (before === undefined) growth.bytes += perEntryBytes + textBytes(name)
  }
  for (const name of removed) {
    growth.bytes -= perEntryBytes + attributeSize(name, old[name] as Value)
  }
  return Object.freeze(copy)
}

/** Leaving names out while copying keeps the copy a fast object, which `delete` would not. */
function copyWithoutRemoved(
  old: Item,
  branch: Branch,
): { copy: Record<string, Value>; removed: string[] } {
  const removed: string[] = []
  for (const [step, child] of branch.children) {
    const name = step as string
    if (child.action?.kind === 'remove' && Object.hasOwn(old, name)) removed.push(name)
  }
  if (removed.length === 0) return { copy: { ...old }, removed }
  const copy: Record<string, Value> = {}
  for (const name of Object.keys(old)) {
    if (!removed.includes(name)) copy[name] = old[name] as Value
  }
  return { copy, removed }
}

function applyChild(
  before: Value | undefined,
  child: Branch,
  root: Item,
  values: Values,
  growth: Growth,
): Value | undefined {
  const { action } = child
  if (action === undefined) return applyInside(before, child, root, values, growth)
  if (action.kind === 'remove') return undefined
  const after = action.evaluate(root, values)
  growth.bytes += growthOf(before, after, action, root, values)
  return after
}

function growthOf(
  before: Value | undefined,
  after: Value,
  action: Extract<Action, { readonly kind: 'set' | 'add' }>,
  root: Item,
  values: Values,
): number {
  if (before === after) return 0
  if (before === undefined) return valueSize(after)
  if (action.appended === undefined) return valueSize(after) - valueSize(before)
  const added = action.appended.evaluate(root, values) as readonly Value[]
  let bytes = 0
  for (const entry of added) bytes += entryBytes + valueSize(entry)
  return bytes
}

function applyInside(
  before: Value | undefined,
  child: Branch,
  root: Item,
  values: Values,
  growth: Growth,
): Value {
  const intoList = typeof child.children.keys().next().value === 'number'
  if (intoList && isList(before)) return applyToList(before, child, root, values, growth)
  if (!intoList && isMap(before)) {
    return applyToMap(before, child, root, values, growth, entryBytes)
  }
  throw validationError('The document path provided in the update expression is invalid for update')
}

/** Indexes mean places in the old list: replacements first, removals last, past the end appends. */
function applyToList(
  old: readonly Value[],
  branch: Branch,
  root: Item,
  values: Values,
  growth: Growth,
): readonly Value[] {
  const copy = [...old]
  const removed = new Set<number>()
  const beyond: [number, Value][] = []
  for (const [step, child] of branch.children) {
    const index = step as number
    const before = old[index]
    if (child.action?.kind === 'remove') {
      if (before !== undefined) removed.add(index)
      continue
    }
    const after = applyChild(before, child, root, values, growth) as Value
    if (before === undefined) beyond.push([index, after])
    else copy[index] = after
  }
  beyond.sort(([a], [b]) => a - b)
  growth.bytes += beyond.length * entryBytes
  for (const [, value] of beyond) copy.push(value)
  if (removed.size === 0) return Object.freeze(copy)
  for (const index of removed) growth.bytes -= entryBytes + valueSize(old[index] as Value)
  return Object.freeze(copy.filter((_value, index) => !removed.has(index)))
}
