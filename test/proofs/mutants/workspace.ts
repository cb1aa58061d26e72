import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

export const root = join(import.meta.dirname, '../../..')

const copied = [
  'shared',
  'aws',
  'rate',
  'engine',
  'lambdas',
  'cli',
  'client',
  'bench',
  'lib',
  'local',
  'testing',
  'test',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
]

/** A copy of the code as it was when the run began: what is edited meanwhile does not matter. */
export async function snapshot(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pushpop-mutants-'))
  const place = join(folder, 'unmutated')
  await mkdir(place)
  for (const name of copied) await cp(join(root, name), join(place, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(place, 'node_modules'), 'dir')
  return folder
}

/** A copy with the mutant's fault in it. */
export async function mutated(folder: string, mutant: Mutant): Promise<string> {
  const place = join(folder, mutant.name)
  const patches = await patched(mutant, join(folder, 'unmutated'))
  await cp(join(folder, 'unmutated'), place, { recursive: true, verbatimSymlinks: true })
  for (const [file, text] of patches) await writeFile(join(place, file), text)
  return place
}

export const remove = (place: string): Promise<void> => rm(place, { recursive: true, force: true })

/** The files that the mutant changes, with their new text. */
export async function patched(mutant: Mutant, place: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  for (const { file, find, replace } of mutant.edits) {
    const text = texts.get(file) ?? (await readFile(join(place, file), 'utf8'))
    const found = [...text.matchAll(howeverFormatted(find))]
    const [only] = found
    if (only === undefined || found.length > 1) {
      throw new Error(
        `Mutant "${mutant.name}" finds its place ${found.length} times in ${file}, not once:\n${find}`,
      )
    }
    const end = only.index + only[0].length
    texts.set(file, text.slice(0, only.index) + replace + text.slice(end))
  }
  return texts
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
