import { join } from 'node:path'
import { filesOf, isSource, stampOf } from '../synthesis/source-hash.ts'

/** When each file was last written, by its full path. */
export type Stamps = ReadonlyMap<string, string>

export function stampsOf(root: string, except: readonly string[], more: readonly string[]): Stamps {
  const sources = [...filesOf(root, except)].filter(isSource).map((path) => join(root, path))
  return new Map([...sources, ...more].map((file) => [file, stampOf(file)]))
}

/** Files that were written, made or deleted between the two. */
export function changedBetween(before: Stamps, after: Stamps): readonly string[] {
  const files = new Set([...before.keys(), ...after.keys()])
  return [...files].filter((file) => (before.get(file) ?? '') !== (after.get(file) ?? ''))
}
