import { type Item, isList, isMap, type Value } from '../value.ts'
import type { PathStep } from './parser.ts'

type ReadPath = (item: Item) => Value | undefined

/** Items are plain objects, so names that Object.prototype also has need care. */
function readName(map: Item, name: string): Value | undefined {
  if (name in Object.prototype) return Object.hasOwn(map, name) ? map[name] : undefined
  return map[name]
}

function readStep(container: Value | undefined, step: PathStep): Value | undefined {
  if (typeof step === 'number') return isList(container) ? container[step] : undefined
  return isMap(container) ? readName(container, step) : undefined
}

export function compilePath(steps: readonly PathStep[]): ReadPath {
  const first = steps[0] as string
  if (steps.length === 1) {
    if (first in Object.prototype) return (item) => readName(item, first)
    return (item) => item[first]
  }
  return (item) => {
    let value: Value | undefined = item
    for (const step of steps) {
      value = readStep(value, step)
      if (value === undefined) return undefined
    }
    return value
  }
}
