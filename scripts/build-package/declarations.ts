// The declarations of the package: those that its entries lead to. The compiler has no API that could tell us, but what
// it writes is regular: every statement begins at the left, and in one file a name stands for one thing.

import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/**
 * The compiler declares every file that it compiles. We keep what the entries' types lead to, and nothing else:
 * nobody could use the rest, which is all of the command line's, and nearly all of the engine's.
 */
export function pruneDeclarations(dist: string, entries: readonly string[]): void {
  const kept = reachedDeclarations(entries.map((entry) => resolve(entry)))
  for (const path of globSync('**/*.d.{ts,mts}', { cwd: dist })) {
    const file = join(dist, path)
    const text = kept.get(file)
    if (text === undefined) rmSync(file)
    else writeFileSync(file, text)
  }
}

/** The compiler leaves `./queues.ts` in a declaration; TypeScript before 5 finds only `./queues.js`. */
export function nameScriptsInDeclarations(dist: string): void {
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    const text = readFileSync(join(dist, path), 'utf8')
    const named = text.replaceAll(/((?:from |import |import\()["']\.[^"']+)\.ts(["'])/g, '$1.js$2')
    writeFileSync(join(dist, path), named)
  }
}

/** For each file that these entries reach, the part that is needed. */
export function reachedDeclarations(entries: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, readonly Statement[]>()
  const kept = new Set<Statement | Binding>()

  const statementsIn = (file: string): readonly Statement[] => {
    const statements = files.get(file) ?? statementsOf(readFileSync(file, 'utf8'))
    files.set(file, statements)
    return statements
  }
  const keepFrom = (file: string, from: string | undefined, name: string): void => {
    const target = from === undefined ? file : fileOf(file, from)
    if (target !== undefined) keep(target, name)
  }
  /** What this name stands for in this file. */
  const keep = (file: string, name: string): void => {
    for (const statement of statementsIn(file)) {
      if (statement.kind === 'all') keepFrom(file, statement.from, name)
      if (statement.kind === 'declaration' && statement.name === name && isNew(statement)) {
        for (const used of namesIn(statement.text)) keep(file, used)
        for (const { from, name } of importedIn(statement.text)) keepFrom(file, from, name)
      }
      if (statement.kind !== 'list') continue
      for (const binding of statement.bindings.filter((it) => it.as === name)) {
        if (isNew(binding)) keepFrom(file, statement.from, binding.name)
      }
    }
  }
  const isNew = (one: Statement | Binding): boolean => {
    const { size } = kept
    return kept.add(one).size > size
  }
  const keepExports = (file: string): void => {
    for (const statement of statementsIn(file)) {
      if (statement.kind === 'declaration' && statement.isExported) keep(file, statement.name)
      if (statement.kind === 'list' && statement.head.startsWith('export')) {
        for (const { as } of statement.bindings) keep(file, as)
      }
      const target = statement.kind === 'all' ? fileOf(file, statement.from) : undefined
      if (target !== undefined) keepExports(target)
    }
  }
  entries.forEach(keepExports)
  return new Map([...files].map(([file, statements]) => [file, textOf(statements, kept)]))
}

/** One of a list: `A as B` of `import { A as B } from './c.ts'`. */
type Binding = { readonly text: string; readonly name: string; readonly as: string }

type List = {
  readonly kind: 'list'
  /** `import type` */
  readonly head: string
  readonly bindings: readonly Binding[]
  /** The module, as it is written. */
  readonly from: string | undefined
}

type Statement =
  | {
      readonly kind: 'declaration'
      readonly text: string
      readonly name: string
      readonly isExported: boolean
    }
  | List
  /** `export * from` a module. */
  | { readonly kind: 'all'; readonly text: string; readonly from: string }
  /** `export {}`, without which everything would be exported. */
  | { readonly kind: 'module'; readonly text: string }
  /** `import './a.ts'`, which declares nothing. */
  | { readonly kind: 'effect'; readonly text: string }

function textOf(statements: readonly Statement[], kept: ReadonlySet<Statement | Binding>): string {
  return statements
    .map((statement) => {
      switch (statement.kind) {
        case 'declaration':
          return kept.has(statement) ? statement.text : ''
        case 'list':
          return listOf(
            statement,
            statement.bindings.filter((it) => kept.has(it)),
          )
        case 'effect':
          return ''
        case 'all':
        case 'module':
          return statement.text
        default:
          return statement satisfies never
      }
    })
    .join('')
}

function listOf({ head, from }: List, bindings: readonly Binding[]): string {
  if (bindings.length === 0) return ''
  const source = from === undefined ? '' : ` from '${from}'`
  return `${head} { ${bindings.map(({ text }) => text).join(', ')} }${source};\n`
}

const comment = String.raw`/\*\*(?:(?!\*/)[\s\S])*\*/`
/** A comment belongs to the statement after it. */
const start = String.raw`(?:${comment}\n)?(?:import|export|declare|type|interface)\b`
const oneStatement = new RegExp(`^${start}[\\s\\S]*?\\n(?=${start}|$(?![\\s\\S]))`, 'gm')
const listed = /^(import(?: type)?|export(?: type)?) \{([^}]*)\}(?: from '([^']+)')?;\n$/
const all = /^export (?:type )?\* from '([^']+)';\n$/
const declared = new RegExp(
  String.raw`^(?:${comment}\n)?(export )?(?:declare )?(?:abstract )?(?:type|interface|class|function|const) ([\w$]+)`,
)

function statementsOf(code: string): Statement[] {
  return [...code.matchAll(oneStatement)].map(([text]) => {
    const [, head, list = '', from] = listed.exec(text) ?? []
    if (head !== undefined && list !== '') {
      return { kind: 'list', head, bindings: bindingsOf(list), from }
    }
    const [, source] = all.exec(text) ?? []
    if (source !== undefined) return { kind: 'all', text, from: source }
    const [, exported, name] = declared.exec(text) ?? []
    if (name !== undefined)
      return { kind: 'declaration', text, name, isExported: exported === 'export ' }
    if (text === 'export {};\n') return { kind: 'module', text }
    if (/^import '[^']+';\n$/.test(text)) return { kind: 'effect', text }
    throw new Error(`Cannot tell what this declares: ${text}`)
  })
}

function bindingsOf(list: string): Binding[] {
  const texts = list.split(',').map((text) => text.trim())
  return texts
    .filter((text) => text !== '')
    .map((text) => {
      const [name = '', as = name] = text.replace(/^type /, '').split(' as ')
      return { text, name, as }
    })
}

/** Every word that is not in a comment: too many if a field has the name of a type, but never too few. */
const namesIn = (text: string): ReadonlySet<string> =>
  new Set(text.replaceAll(/\/\*\*[\s\S]*?\*\//g, '').match(/[A-Za-z_$][\w$]*/g))

/** What is named in its place: `import("./c.ts").A`. */
const importedIn = (text: string) =>
  [...text.matchAll(/import\("([^"]+)"\)\.([\w$]+)/g)].map(([, from = '', name = '']) => ({
    from,
    name,
  }))

/** Undefined if the import is from another package. */
const fileOf = (importer: string, from: string): string | undefined =>
  from.startsWith('.') ? resolve(dirname(importer), from.replace(/\.ts$/, '.d.ts')) : undefined
