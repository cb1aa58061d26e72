import { validationError } from './errors.ts'
import type { ConditionNode, Operand, Values } from './expression/condition.ts'
import { compare, type Value } from './value.ts'

/** KeyConditionExpression: one value of the hash key, and at most one stretch of the sort key. */

export interface KeyRange {
  readonly hash: Value
  readonly low?: Value
  readonly high?: Value
  readonly prefix?: Value
  /** Where the stretch begins, if it has a beginning: what is not in it and not above is before. */
  readonly lowest: Value | undefined
  contains(value: Value): boolean
}

type Stretch = Omit<KeyRange, 'hash'>

const everything: Stretch = { lowest: undefined, contains: () => true }

export function readKeyCondition(
  node: ConditionNode,
  values: Values,
  hashName: string,
  rangeName: string,
): KeyRange {
  let hash: Value | undefined
  let stretch: Stretch | undefined
  for (const part of clauses(node)) {
    const { name, clause } = readClause(part, values)
    if (name === hashName && clause.kind === '=' && hash === undefined) {
      hash = clause.value
    } else if (name === rangeName && stretch === undefined) {
      stretch = toStretch(clause)
    } else if (name === hashName || name === rangeName) {
      throw validationError('Query key condition not supported')
    } else {
      throw validationError(`Query condition missed key schema element: ${hashName}`)
    }
  }
  if (hash === undefined) {
    throw validationError(`Query condition missed key schema element: ${hashName}`)
  }
  return { hash, ...(stretch ?? everything) }
}

function clauses(node: ConditionNode): ConditionNode[] {
  if (node.kind === 'and') return [...clauses(node.left), ...clauses(node.right)]
  if (node.kind === 'or' || node.kind === 'not') {
    throw validationError(
      `Invalid operator used in KeyConditionExpression: ${node.kind.toUpperCase()}`,
    )
  }
  return [node]
}

type Clause =
  | { readonly kind: '=' | '<' | '<=' | '>' | '>=' | 'begins'; readonly value: Value }
  | { readonly kind: 'between'; readonly low: Value; readonly high: Value }

function readClause(node: ConditionNode, values: Values): { name: string; clause: Clause } {
  switch (node.kind) {
    case 'compare':
      if (node.comparator === '<>') break
      return {
        name: keyName(node.left),
        clause: { kind: node.comparator, value: valueOf(node.right, values) },
      }
    case 'between':
      return {
        name: keyName(node.operand),
        clause: {
          kind: 'between',
          low: valueOf(node.low, values),
          high: valueOf(node.high, values),
        },
      }
    case 'begins':
      return {
        name: keyName(node.operand),
        clause: { kind: 'begins', value: valueOf(node.argument, values) },
      }
    default:
  }
  throw validationError('Invalid operator used in KeyConditionExpression')
}

function keyName(operand: Operand): string {
  const name = operand.kind === 'path' && operand.steps.length === 1 ? operand.steps[0] : undefined
  if (typeof name !== 'string') {
    throw validationError('Invalid KeyConditionExpression: a key attribute is expected')
  }
  return name
}

function valueOf(operand: Operand, values: Values): Value {
  const value = operand.kind === 'value' ? values[operand.name] : undefined
  if (value === undefined) {
    throw validationError('Invalid condition in KeyConditionExpression: no value to compare with')
  }
  return value
}

function toStretch(clause: Clause): Stretch {
  switch (clause.kind) {
    case '=':
      return within(clause.value, clause.value)
    case '>=':
      return {
        low: clause.value,
        lowest: clause.value,
        contains: (v) => order(v, clause.value) >= 0,
      }
    case '>':
      return {
        low: clause.value,
        lowest: clause.value,
        contains: (v) => order(v, clause.value) > 0,
      }
    case '<=':
      return { high: clause.value, lowest: undefined, contains: (v) => order(v, clause.value) <= 0 }
    case '<':
      return { high: clause.value, lowest: undefined, contains: (v) => order(v, clause.value) < 0 }
    case 'between':
      return within(clause.low, clause.high)
    case 'begins': {
      const prefix = clause.value
      const contains = (value: Value) =>
        typeof value === 'string' && typeof prefix === 'string' && value.startsWith(prefix)
      return { prefix, lowest: prefix, contains }
    }
  }
}

function within(low: Value, high: Value): Stretch {
  const contains = (value: Value) => order(value, low) >= 0 && order(value, high) <= 0
  return { low, high, lowest: low, contains }
}

function order(value: Value, bound: Value): number {
  return compare(value, bound) ?? Number.NaN
}
