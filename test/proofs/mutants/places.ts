import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { declarationsIn } from './declarations.ts'
import type { Edit, Mutant } from './mutant.ts'

/**
 * Finds the place of a mutant's edit: by the name of a declaration in the rooms that we ship, and in it by code that
 * stands there once. So a function may move to another file, and everything around the code may change, and the
 * mutant still plants the same fault.
 */
const rooms = ['shared', 'aws', 'rate', 'engine', 'lambdas', 'client', 'cli', 'local', 'lib']

type Place = { readonly file: string; readonly from: number; readonly to: number }

export class Sources {
  readonly #texts: ReadonlyMap<string, string>
  readonly #declarations = new Map<string, Place[]>()

  /** The texts of source files, by their paths from the root of the repository. */
  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts
    for (const [file, text] of texts) {
      for (const { name, from, to } of declarationsIn(text)) {
        const places = this.#declarations.get(name) ?? []
        places.push({ file, from, to })
        this.#declarations.set(name, places)
      }
    }
  }

  static async in(root: string): Promise<Sources> {
    const texts = new Map<string, string>()
    for (const room of rooms) {
      const files = await readdir(join(root, room), { recursive: true })
      for (const file of files.filter((name) => name.endsWith('.ts'))) {
        texts.set(join(room, file), await readFile(join(root, room, file), 'utf8'))
      }
    }
    return new Sources(texts)
  }

  /** The files that the mutant changes, with their new text. */
  patchedBy({ name, edits }: Mutant): Map<string, string> {
    const found = edits.map((edit) => ({ ...this.#placeOf(name, edit), replace: edit.replace }))
    const patched = new Map<string, string>()
    // From the end of each file to its beginning: no edit moves the place of another.
    for (const { file, from, to, replace } of found.sort((a, b) => b.from - a.from)) {
      const text = patched.get(file) ?? this.#textOf(file)
      patched.set(file, text.slice(0, from) + replace + text.slice(to))
    }
    return patched
  }

  #placeOf(mutant: string, edit: Edit): Place {
    const { file, from, to } = this.#declared(mutant, edit.declaration)
    const code = this.#textOf(file).slice(from, to)
    const found = [...code.matchAll(howeverFormatted(edit.find))]
    const [only] = found
    if (only === undefined || found.length > 1) {
      throw new Error(
        `Mutant "${mutant}" finds its place ${found.length} times in ${edit.declaration}, not once:\n${edit.find}`,
      )
    }
    const at = from + only.index
    return { file, from: at, to: at + only[0].length }
  }

  #declared(mutant: string, declaration: string): Place {
    const [, path = '', name = ''] = /^(?:(.*)\/)?([^/]+)$/.exec(declaration) ?? []
    const all = this.#declarations.get(name) ?? []
    const found = all.filter(({ file }) => path === '' || `/${file}`.endsWith(`/${path}.ts`))
    const [only] = found
    if (only === undefined) throw new Error(`Mutant "${mutant}": there is no ${declaration}`)
    if (found.length === 1) return only
    const files = found.map(({ file }) => file).join(', ')
    throw new Error(`Mutant "${mutant}": ${declaration} is declared in ${files}; say in which`)
  }

  #textOf(file: string): string {
    return this.#texts.get(file) as string
  }
}

/** The same code in any layout: line breaks, indentation and trailing commas are the formatter's. */
function howeverFormatted(code: string): RegExp {
  const tokens = code.match(/\w+|[^\w\s]/g) ?? []
  const pattern = tokens.map((token, index) => {
    const next = tokens[index + 1] ?? ''
    const gap = /\w/.test(token) && /\w/.test(next) ? '\\s+' : '\\s*'
    const closes = next !== '' && ')]}'.includes(next)
    if (token === ',' && closes) return ',?\\s*'
    const comma = closes && !'([{'.includes(token) ? '\\s*,?' : ''
    return token.replace(/^\W$/, '\\$&') + comma + (next === '' ? '' : gap)
  })
  return new RegExp(pattern.join(''), 'g')
}
