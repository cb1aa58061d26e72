import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'
import type { Sources } from './places.ts'

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
export async function mutated(folder: string, mutant: Mutant, sources: Sources): Promise<string> {
  const place = join(folder, mutant.name)
  await cp(join(folder, 'unmutated'), place, { recursive: true, verbatimSymlinks: true })
  for (const [file, text] of sources.patchedBy(mutant)) await writeFile(join(place, file), text)
  return place
}

export const remove = (place: string): Promise<void> => rm(place, { recursive: true, force: true })
