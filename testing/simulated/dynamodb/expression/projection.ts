import { type Item, isList, isMap, type Value } from '../value.ts'
import type { Parser, Path, PathStep } from './parser.ts'

/** ProjectionExpression, and the parts an update touched (UPDATED_OLD, UPDATED_NEW). */

export type Projection = (item: Item) => Item

interface Branch {
  whole: boolean
  readonly children: Map<PathStep, Branch>
}

export function parseProjection(parser: Parser): readonly Path[] {
  const paths = [parser.path()]
  while (parser.take(',')) paths.push(parser.path())
  parser.expectEnd()
  return paths
}

export function compileProjection(paths: readonly Path[], overlap?: () => Error): Projection {
  const root: Branch = { whole: false, children: new Map() }
  for (const path of paths) insert(root, path.steps, overlap)
  return (item) => Object.freeze(projectMap(item, root))
}

function insert(root: Branch, steps: readonly PathStep[], overlap?: () => Error): void {
  let branch = root
  for (const step of steps) {
    if (branch.whole && overlap !== undefined) throw overlap()
    let child = branch.children.get(step)
    if (child === undefined) {
      child = { whole: false, children: new Map() }
      branch.children.set(step, child)
    }
    branch = child
  }
  if (overlap !== undefined && (branch.whole || branch.children.size > 0)) throw overlap()
  branch.whole = true
}

function project(value: Value | undefined, branch: Branch): Value | undefined {
  if (value === undefined || branch.whole) return value
  if (isMap(value)) {
    const part = projectMap(value, branch)
    return Object.keys(part).length === 0 ? undefined : part
  }
  if (!isList(value)) return undefined
  const indexes = [...branch.children.keys()].filter((step) => typeof step === 'number')
  indexes.sort((a, b) => a - b)
  const entries: Value[] = []
  for (const index of indexes) {
    const entry = project(value[index], branch.children.get(index) as Branch)
    if (entry !== undefined) entries.push(entry)
  }
  return entries.length === 0 ? undefined : entries
}

function projectMap(map: Item, branch: Branch): Item {
  const part: Record<string, Value> = {}
  for (const [step, child] of branch.children) {
    if (typeof step !== 'string' || !Object.hasOwn(map, step)) continue
    const value = project(map[step], child)
    if (value !== undefined) part[step] = value
  }
  return part
}
