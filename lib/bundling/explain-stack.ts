// Turns a stack from a log into files and lines of this repository:
//
//   npm run explain-stack -- Push < stack.txt
//
// The bundles are minified and have no source maps, but the same commit makes the same bundles again, with
// maps. At another commit the places look right and are wrong.

import { SourceMap } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { handlerFiles, handlerGroups } from '../constructs/function-settings.ts'
import { sourceMapsOf } from './bundle.ts'
import { entriesOf } from './bundled-code.ts'

const root = resolve(import.meta.dirname, '../..')

/** `file:///var/task/chunk-ABCDEFGH.mjs:1:2345`, wherever the bundle was. */
const place =
  /(?:file:\/\/)?[^\s()]*\/((?:index|client-s3|client-sqs|chunk-[A-Z0-9]+)\.mjs):(\d+):(\d+)/g

const groupOf = (name: string) => handlerGroups.find((files) => Object.hasOwn(files, name))

export function explainStack(stack: string, name: string): string {
  const maps = sourceMapsOf(entriesOf(groupOf(name) ?? handlerFiles))
  return stack.replaceAll(place, (found, file: string, line: string, column: string) => {
    const map = maps.get(file === 'index.mjs' ? `${name}.mjs` : file)
    if (map === undefined) return found
    const entry = new SourceMap(JSON.parse(map)).findEntry(Number(line) - 1, Number(column) - 1)
    if (!('originalSource' in entry)) return found
    const source = relative(root, join(root, 'bundle', entry.originalSource))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })
}

if (import.meta.main) {
  const name = process.argv[2] ?? ''
  if (groupOf(name) !== undefined) {
    process.stdout.write(explainStack(await text(process.stdin), name))
  } else {
    const names = handlerGroups.flatMap(Object.keys).join(', ')
    console.error(`Cannot explain a stack of "${name}" because the functions are ${names}`)
    process.exitCode = 1
  }
}
