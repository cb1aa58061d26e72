import { validationError } from './errors.ts'
import type { ConditionNode, Operand, Values } from './expression/condition.ts'
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

type Stretch = Omit<KeyRange, 'hash'>

const everything: Stretch = { bounds: [], place: () => 0 }

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
  | { readonly kind: '=' | '<' | '<='; readonly value: Value }
  | { readonly kind: 'between'; readonly low: Value; readonly high: Value }

function readClause(node: ConditionNode, values: Values): { name: string; clause: Clause } {
  switch (node.kind) {
    case 'compare':
      if (node.comparator !== '=' && node.comparator !== '<' && node.comparator !== '<=') break
      return {
        name: keyName(node.left),
        clause: { kind: node.comparator, value: comparedValue(node.right, values) },
      }
    case 'between':
      return {
        name: keyName(node.operand),
        clause: {
          kind: 'between',
          low: comparedValue(node.low, values),
          high: comparedValue(node.high, values),
        },
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

function comparedValue(operand: Operand, values: Values): Value {
  const value = operand.kind === 'value' ? values[operand.name] : undefined
  if (value === undefined) {
    throw validationError('Invalid condition in KeyConditionExpression: no value to compare with')
  }
  return value
}

function toStretch(clause: Clause): Stretch {
  if (clause.kind === 'between') return between(clause.low, clause.high)
  const bound = clause.value
  const bounds = [bound]
  switch (clause.kind) {
    case '=':
      return between(bound, bound)
    case '<=':
      return { bounds, place: (value) => (order(value, bound) <= 0 ? 0 : 1) }
    case '<':
      return { bounds, place: (value) => (order(value, bound) < 0 ? 0 : 1) }
  }
}

function between(low: Value, high: Value): Stretch {
  const place = (value: Value) => (order(value, low) < 0 ? -1 : order(value, high) > 0 ? 1 : 0)
  return { bounds: [low, high], place }
}

function order(value: Value, bound: Value): number {
  return compare(value, bound) ?? Number.NaN
}
