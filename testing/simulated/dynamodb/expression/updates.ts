// UpdateExpression. The actions are arranged as a tree of paths, so that an update copies each container on the way
// once, shares the rest, and knows by how much the item grew without measuring it again.

import { validationError } from '../errors.ts'
import {
  attributeSize,
  entryBytes,
  type Item,
  isList,
  isMap,
  textBytes,
  typeOf,
  type Value,
  valueSize,
} from '../values.ts'
import {
  compilePath,
  type Parser,
  type Path,
  type PathStep,
  samePath,
  type Values,
} from './parser.ts'

type Evaluate = (item: Item, values: Values) => Value

/** A part of a right-hand side, and what rules about the whole must know of it. */
interface Term {
  readonly evaluate: Evaluate
  /** The name of the value that it is. */
  readonly value?: string
  /** The path that it is, or that it heals. */
  readonly path?: Path
  /** The operands of list_append. */
  readonly operands?: readonly [Term, Term]
}

type Action =
  | { readonly kind: 'set' | 'add'; readonly evaluate: Evaluate; readonly appended?: Evaluate }
  | { readonly kind: 'remove' }

interface Branch {
  action?: Action
  readonly children: Map<PathStep, Branch>
}

export interface Update {
  readonly topLevelNames: readonly string[]
  /** It has only removals, so it does not make an item that is missing. */
  readonly removesOnly: boolean
  apply(item: Item, values: Values): { readonly item: Item; readonly grownBytes: number }
}

const sections = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const

export function parseUpdate(parser: Parser): Update {
  const root: Branch = { children: new Map() }
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
    do parseAction(parser, section, plant)
    while (parser.take(','))
  }
  const topLevelNames = [...root.children.keys()].map(String)
  return {
    topLevelNames,
    removesOnly: seen.size === 1 && seen.has('REMOVE'),
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
): void {
  const path = parser.path()
  switch (section) {
    case 'SET': {
      parser.expect('=')
      const { evaluate, operands } = parseSum(parser)
      // For `p = list_append(p, x)`, only the size of x counts.
      const appends = operands?.[0].path !== undefined && samePath(operands[0].path, path)
      const appended = appends ? operands?.[1].evaluate : undefined
      plant(path, { kind: 'set', evaluate, ...(appended && { appended }) })
      return
    }
    case 'REMOVE':
      plant(path, { kind: 'remove' })
      return
    case 'ADD': {
      parser.countOperator()
      const { name } = parser.value()
      requireType(parser, name, 'N', 'ADD')
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

function requireType(parser: Parser, name: string, type: 'N' | 'L', operator: string): void {
  parser.checks.push((values) => {
    const value = values[name]
    if (value !== undefined && typeOf(value) !== type) {
      throw parser.wrongOperand(operator, typeOf(value))
    }
  })
}

function parseSum(parser: Parser): Term {
  const left = parseTerm(parser)
  const kind = parser.take('+') ? '+' : parser.take('-') ? '-' : undefined
  if (kind === undefined) return left
  parser.countOperator()
  const right = parseTerm(parser)
  for (const operand of [left, right]) {
    if (operand.operands !== undefined) {
      throw parser.invalid(`Incorrect operand type for operator or function; operator: ${kind}`)
    }
    if (operand.value !== undefined) requireType(parser, operand.value, 'N', kind)
  }
  const sign = kind === '+' ? 1 : -1
  return {
    evaluate: (item, values) =>
      sum(left.evaluate(item, values), right.evaluate(item, values), sign),
  }
}

function parseTerm(parser: Parser): Term {
  if (parser.peek().kind === 'value') {
    const { name } = parser.value()
    return { value: name, evaluate: (_item, values) => values[name] as Value }
  }
  if (parser.take('(')) {
    const inner = parseSum(parser)
    parser.expect(')')
    return inner
  }
  const name = parser.peekCall()
  if (name === undefined) return pathTerm(parser.path())
  parser.takeCall()
  const call = parseCall(parser, name)
  parser.expect(')')
  return call
}

function pathTerm(path: Path): Term {
  const read = compilePath(path.steps)
  return {
    path,
    evaluate: (item) => {
      const value = read(item)
      if (value === undefined) {
        throw validationError(
          'The provided expression refers to an attribute that does not exist in the item',
        )
      }
      return value
    },
  }
}

function parseCall(parser: Parser, name: string): Term {
  if (name === 'if_not_exists') {
    if (parser.peek().kind === 'value') throw parser.pathRequired(name)
    const path = parser.path()
    parser.expect(',')
    const read = compilePath(path.steps)
    const fallback = parseTerm(parser).evaluate
    // A stored null is not missing: `??` would take it for that.
    const evaluate: Evaluate = (item, values) => {
      const value = read(item)
      return value === undefined ? fallback(item, values) : value
    }
    return { path, evaluate }
  }
  if (name === 'list_append') {
    const left = parseTerm(parser)
    parser.expect(',')
    const right = parseTerm(parser)
    for (const { value, operands } of [left, right]) {
      if (value !== undefined) requireType(parser, value, 'L', name)
      if (operands !== undefined) {
        throw parser.invalid(
          `The function is not allowed to be used this way in an expression; function: ${name}`,
        )
      }
    }
    const evaluate: Evaluate = (item, values) =>
      append(left.evaluate(item, values), right.evaluate(item, values))
    return { evaluate, operands: [left, right] }
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
  const added = action.appended(root, values) as readonly Value[]
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
