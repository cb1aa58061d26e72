import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { user } from './make-root.ts'

const repository = join(import.meta.dirname, '../../..')

/** As after a clone, without its history. */
export function addRepository(root: string): void {
  const home = join(root, user.home)
  for (const name of ['pushpop', 'with spaces'])
    rmSync(join(home, name), { recursive: true, force: true })
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' })
  for (const path of tracked.split('\0').filter(Boolean)) {
    const to = join(home, 'pushpop', path)
    mkdirSync(dirname(to), { recursive: true })
    cpSync(join(repository, path), to)
  }
  cpSync(join(import.meta.dirname, 'inside.mjs'), join(home, 'inside.mjs'))
  execFileSync('chown', ['-R', `${user.id}:${user.id}`, home])
}
